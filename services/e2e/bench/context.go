package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	retrievalv1 "github.com/kiroku-dev/kiroku/proto/gen/kiroku/retrieval/v1"
	"github.com/kiroku-dev/kiroku/services/internal/postgres"
	"github.com/kiroku-dev/kiroku/services/internal/storetest"
)

// benchProject is the name of the largest project: the hooks run in it.
const benchProject = "bench"

// prompts are what is asked of a project of n records: the same in every run.
func prompts(n int) []string {
	made := storetest.NewProject("", n, uint64(n)+1, time.Time{})
	list := make([]string, 200)
	for i := range list {
		list[i] = made.Words(12)
	}
	return list
}

// context measures BuildContext, over gRPC on loopback, in projects of several sizes.
func (p plan) context(ctx context.Context, srv *server, page *strings.Builder) error {
	fmt.Fprintf(page, `
## Context

BuildContext over gRPC on loopback, %d prompts of 12 words in each project, each in a session of its own, one after the other. Cold is the first question to a project whose index is not built
yet.

| records in the project | p50 ms | p99 ms | server's own p50 ms | p99 ms | cold ms | with context | budget (server) | |
|---|---|---|---|---|---|---|---|---|
`, p.questions)
	owner, err := pgx.Connect(ctx, srv.stores.PostgresURL())
	if err != nil {
		return err
	}
	defer func() { _ = owner.Close(ctx) }()
	conn, err := srv.dial("KIROKU_RETRIEVAL_ADDR")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := retrievalv1.NewRetrievalServiceClient(conn)
	for i, n := range p.sizes {
		id := fmt.Sprintf("p_bench_%d", n)
		if i == len(p.sizes)-1 {
			if id, err = projectID(ctx, p.bin, srv.dir); err != nil {
				return err
			}
		}
		if err := storetest.NewProject(id, n, uint64(n), time.Now()).Fill(ctx, owner, postgres.OrgIDForName("default"), n); err != nil {
			return err
		}
		if err := p.ask(srv.call(ctx), client, id, n, page); err != nil {
			return err
		}
	}
	return nil
}

func (p plan) ask(ctx context.Context, client retrievalv1.RetrievalServiceClient, id string, n int, page *strings.Builder) error {
	questions := prompts(n)
	build := func(i int) (*retrievalv1.BuildContextResponse, time.Duration, error) {
		began := time.Now()
		resp, err := client.BuildContext(ctx, &retrievalv1.BuildContextRequest{
			ProjectId: id, Purpose: retrievalv1.Purpose_PURPOSE_PROMPT, Query: questions[i%len(questions)], SessionId: fmt.Sprintf("s%d", i),
		})
		return resp, time.Since(began), err
	}
	_, cold, err := build(0)
	if err != nil {
		return err
	}
	if err := awaitWarm(build); err != nil {
		return err
	}
	var outside, inside samples
	given := 0
	for i := range p.questions {
		resp, took, err := build(1000 + i)
		if err != nil {
			return err
		}
		outside, inside = append(outside, took), append(inside, resp.GetLatency().AsDuration())
		if resp.GetText() != "" {
			given++
		}
	}
	kept := inside.at(.5) <= 2*time.Millisecond && inside.at(.99) <= 15*time.Millisecond && cold <= 300*time.Millisecond
	fmt.Fprintf(page, "| %d | %s | %s | %s | %s | %s | %d of %d | p50 2, p99 15, cold 300 | %s |\n", n, ms(outside.at(.5)), ms(outside.at(.99)),
		ms(inside.at(.5)), ms(inside.at(.99)), ms(cold), given, p.questions, verdict(kept))
	return nil
}

// awaitWarm asks until the lexical lane answers from its index.
func awaitWarm(build func(int) (*retrievalv1.BuildContextResponse, time.Duration, error)) error {
	until := time.Now().Add(time.Minute)
	for i := 1; ; i++ {
		resp, _, err := build(i)
		if err != nil {
			return err
		}
		for _, lane := range resp.GetLanes() {
			if lane.GetLane() == "lexical" && lane.GetState() == "ok" {
				return nil
			}
		}
		if time.Now().After(until) {
			return fmt.Errorf("the index was not built within a minute")
		}
	}
}

// projectID asks the kiroku command, as the hooks will, for the id of the project that a directory names.
func projectID(ctx context.Context, bin, dir string) (string, error) {
	dir = filepath.Join(dir, "named")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, ".kiroku.toml"), []byte("project = \""+benchProject+"\"\n"), 0o600); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "kiroku"), "project", "--json")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kiroku project: %w", err)
	}
	var found struct {
		ID string `json:"project_id"`
	}
	if err := json.Unmarshal(out, &found); err != nil || found.ID == "" {
		return "", fmt.Errorf("kiroku project: no id in its answer")
	}
	return found.ID, nil
}
