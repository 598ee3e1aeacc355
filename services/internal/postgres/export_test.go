package postgres

// IDBound is the smallest event id of a time.
var IDBound = idBound
