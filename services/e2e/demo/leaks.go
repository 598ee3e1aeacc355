package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/e2e/internal/server"
)

// private returns a private word or a secret that a text holds, empty when it holds none.
func (s *stage) private(text string) string {
	for _, word := range s.forbidden() {
		if strings.Contains(text, word) {
			return word
		}
	}
	return ""
}

func (s *stage) forbidden() []string {
	words := append([]string{}, privateWords...)
	for _, secret := range s.secrets {
		words = append(words, secret)
	}
	return words
}

// findLeaks looks for what is private in the records, in every file of the server's data and of the developers' relays, and in
// the server's log.
func (s *stage) findLeaks(ctx context.Context) error {
	s.progress.begin("looking for what was private")
	if err := s.searchRecords(ctx); err != nil {
		return err
	}
	dirs := []string{}
	for _, m := range s.machines {
		dirs = append(dirs, m.Dir)
	}
	if s.started != nil {
		if leaked := s.private(s.started.Log()); leaked != "" {
			return fmt.Errorf("the server's log holds %q", leaked)
		}
		dirs = append(dirs, s.dataDir())
	}
	files, controlFound := 0, false
	for _, dir := range dirs {
		n, found, err := s.searchFiles(ctx, dir)
		if err != nil {
			return err
		}
		files, controlFound = files+n, controlFound || found
	}
	if s.started != nil && !controlFound {
		return fmt.Errorf("%q is in no file of %s either: the search proves nothing", control, s.dataDir())
	}
	s.progress.end("nothing in the records, nor in %d files", files)
	return nil
}

// searchRecords asks for every private word.
func (s *stage) searchRecords(ctx context.Context) error {
	token, err := server.ReadToken(s.tokenFile)
	if err != nil {
		return err
	}
	conn, err := server.Dial(s.retrieval, token)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := retrievalv1.NewRetrievalServiceClient(conn)
	for _, word := range append(s.forbidden(), "") { // the last lists the newest
		resp, err := client.Search(ctx, &retrievalv1.SearchRequest{ProjectId: s.project, Query: word, PageSize: 100})
		if err != nil {
			return fmt.Errorf("search: %w", err)
		}
		for _, hit := range resp.GetHits() {
			if leaked := s.private(hit.GetRecord().String()); leaked != "" {
				return fmt.Errorf("the record %s holds %q", hit.GetRecord().GetRecordId(), leaked)
			}
		}
	}
	return nil
}

// searchFiles looks into every file below a directory, and tells whether the control word is in one.
func (s *stage) searchFiles(ctx context.Context, dir string) (files int, controlFound bool, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			if os.IsNotExist(err) {
				return nil // Postgres removes files of its own
			}
			return fmt.Errorf("search %s: %w", path, errors.Join(err, ctx.Err()))
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, word := range s.forbidden() {
			if bytes.Contains(content, []byte(word)) {
				return fmt.Errorf("%s holds %q, which is private", path, word)
			}
		}
		files++
		controlFound = controlFound || bytes.Contains(content, []byte(control))
		return nil
	})
	return files, controlFound, err
}
