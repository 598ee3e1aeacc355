package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/kiroku-dev/kiroku/shim/internal/config"
	"github.com/kiroku-dev/kiroku/shim/internal/doctor"
	"github.com/kiroku-dev/kiroku/shim/internal/rundir"
)

func runDoctor(ctx context.Context, s streams, args []string) error {
	flags := newFlags(s, "doctor")
	asJSON := flags.Bool("json", false, "print JSON")
	if err := parse(s, flags, args, 0, 0); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	hook, hookErr := findHook(self)
	cfg, cfgErr := config.FromEnvironment()
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	home, homeErr := resolveProject(dir, "")
	report := doctor.Examine(ctx, doctor.Subject{
		Config: cfg, ConfigErr: cfgErr, Paths: rundir.FromEnvironment(), Version: buildVersion(),
		Hook: hook, HookErr: hookErr, Dir: dir, Project: home, ProjectErr: homeErr, ProjectWhy: why(home), Home: os.Getenv("HOME"),
	})
	if *asJSON {
		encoder := json.NewEncoder(s.out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(report); err != nil {
			return err
		}
	} else {
		for _, c := range report.Checks {
			_, _ = fmt.Fprintf(s.out, "%-5s %-14s %s\n", c.State, c.Name, c.Detail)
			if c.Fix != "" {
				_, _ = fmt.Fprintf(s.out, "%-5s %-14s → %s\n", "", "", c.Fix)
			}
		}
	}
	if !report.Well {
		return errFound
	}
	return nil
}
