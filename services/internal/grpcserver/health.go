package grpcserver

import (
	"context"
	"log/slog"
	"time"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	healthInterval = 2 * time.Second
	healthTimeout  = 1800 * time.Millisecond
)

// watchHealth asks the service how it is and publishes the answer, under the empty name and the service's own. Only
// changes are logged.
func (s *Server) watchHealth(ctx context.Context) {
	ticker := time.NewTicker(healthInterval)
	defer ticker.Stop()
	last := healthv1.HealthCheckResponse_UNKNOWN
	for {
		state, err := s.checkHealth(ctx)
		if ctx.Err() != nil {
			return
		}
		if state != last {
			s.publish(state)
			if err != nil {
				level := slog.LevelWarn
				if last == healthv1.HealthCheckResponse_UNKNOWN {
					level = slog.LevelInfo // a service that starts is not yet ready: nothing has gone wrong
				}
				s.cfg.Logger.Log(ctx, level, "not serving", "name", s.cfg.Name, "err", err)
			} else {
				s.cfg.Logger.InfoContext(ctx, "serving", "name", s.cfg.Name, "addr", s.Addr())
			}
			last = state
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (s *Server) publish(state healthv1.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", state)
	s.health.SetServingStatus(s.cfg.Name, state)
}

func (s *Server) checkHealth(ctx context.Context) (healthv1.HealthCheckResponse_ServingStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	if err := s.cfg.Health(ctx); err != nil {
		return healthv1.HealthCheckResponse_NOT_SERVING, err
	}
	return healthv1.HealthCheckResponse_SERVING, nil
}
