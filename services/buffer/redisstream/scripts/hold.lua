-- ARGV from 4: token. Answers false when the lease is lost, else 1.
return held(ARGV[4]) and 1 or false
