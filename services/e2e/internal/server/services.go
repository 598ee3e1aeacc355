package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

// Services is a server with each service in a process of its own, as in the team deployment.
type Services struct {
	Addresses
	program string
	vars    map[string]string
	running map[string]*Process
}

// Names are the services, in the order in which they are started.
var Names = []string{"buffer", "extraction", "retrieval", "ingest"}

// StartServices starts all services on free ports and waits until each serves. The variables must hold the stores and the
// services' token.
func StartServices(ctx context.Context, program string, vars map[string]string) (*Services, error) {
	s := &Services{program: program, running: map[string]*Process{}, vars: map[string]string{
		"KIROKU_BUFFER_METRICS": "off", "KIROKU_EXTRACTION_METRICS": "off", "KIROKU_RETRIEVAL_METRICS": "off", "KIROKU_INGEST_METRICS": "off",
	}}
	for name, value := range vars {
		s.vars[name] = value
	}
	for name, addr := range map[string]*string{"BUFFER": &s.Buffer, "EXTRACTION": &s.Extraction, "RETRIEVAL": &s.Retrieval, "INGEST": &s.Ingest} {
		var err error
		if *addr, err = freeAddress(ctx); err != nil {
			return nil, err
		}
		s.vars["KIROKU_"+name+"_LISTEN"], s.vars["KIROKU_"+name+"_ADDR"] = *addr, *addr
	}
	for _, name := range Names {
		if err := s.Start(ctx, name); err != nil {
			s.Kill()
			return nil, err
		}
	}
	return s, nil
}

// freeAddress is one on which nobody listens now. A restarted service must come back where its callers look for it, so the
// ports are chosen before; they lie below those that the system gives out by itself, so that nobody is given one meanwhile.
func freeAddress(ctx context.Context) (string, error) {
	const first, ports, attempts = 20000, 10000, 100
	var lastErr error
	for range attempts {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.IntN(ports)))
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
		if err != nil {
			lastErr = err // in use
			continue
		}
		return addr, listener.Close()
	}
	return "", fmt.Errorf("no free port: %w", lastErr)
}

// Start starts one service and waits until it serves.
func (s *Services) Start(ctx context.Context, name string) error {
	p, err := Start("kiroku-server "+name, s.program, []string{name}, Environ(s.vars))
	if err != nil {
		return err
	}
	s.running[name] = p
	conn, err := Dial(s.address(name), "")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	client := healthv1.NewHealthClient(conn)
	return p.Await(ctx, func() bool {
		resp, err := client.Check(ctx, &healthv1.HealthCheckRequest{})
		return err == nil && resp.GetStatus() == healthv1.HealthCheckResponse_SERVING
	})
}

func (s *Services) address(name string) string {
	return map[string]string{"buffer": s.Buffer, "extraction": s.Extraction, "retrieval": s.Retrieval, "ingest": s.Ingest}[name]
}

// Restart kills a service without warning and starts it again.
func (s *Services) Restart(ctx context.Context, name string) error {
	s.running[name].Kill()
	if err := s.Start(ctx, name); err != nil {
		return fmt.Errorf("start again: %w", err)
	}
	return nil
}

// Kill ends all services at once.
func (s *Services) Kill() {
	for _, p := range s.running {
		p.Kill()
	}
}

// Log is the end of what a service wrote since it was started last.
func (s *Services) Log(name string) string { return s.running[name].Log() }
