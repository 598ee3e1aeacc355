package privatestore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	databaseName = "kiroku"
	databaseUser = "kiroku"
	// clusterMarker shows in the command line that we have started a Postgres.
	clusterMarker = "cluster_name=kiroku"

	sqlDatabaseExists = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`
	sqlCreateDatabase = `CREATE DATABASE ` + databaseName

	sqlStateCannotConnectNow = "57P03" // starting up or replaying its log
)

// postgresShutdown: SIGINT cuts clients off and writes everything out (SIGTERM
// would wait for the clients), SIGQUIT leaves the rest to the next start.
var postgresShutdown = []shutdownStep{
	{syscall.SIGINT, 5 * time.Second},
	{syscall.SIGQUIT, 2 * time.Second},
	{syscall.SIGKILL, time.Second},
}

// postgresConf are defaults for the person who edits the file. What must hold
// is given on the command line. Statements and details of errors stay out of
// the log, since they hold what users wrote.
const postgresConf = `
# Settings of Kiroku for its private Postgres; change them as you like.
shared_buffers = 128MB
max_connections = 100
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] '
log_min_error_statement = panic
log_error_verbosity = terse
`

// Anybody who reaches the socket directory still needs the password.
const postgresHBA = "local all all scram-sha-256\n"

// postgresServer is a private Postgres.
type postgresServer struct {
	binaries   postgresBinaries
	dirs       layout
	sockets    string
	account    account
	fastUnsafe bool
	password   string
}

// url connects to a database of the server.
func (p *postgresServer) url(database string) string {
	query := url.Values{"host": {p.sockets}, "port": {postgresPort}, "sslmode": {"disable"}}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(databaseUser, p.password),
		Path: "/" + database, RawQuery: query.Encode(),
	}
	return u.String()
}

func (p *postgresServer) start(ctx context.Context, s *Stores) error {
	if err := p.clearLeftover(ctx); err != nil {
		return err
	}
	if err := p.initialise(ctx, s.launcher); err != nil {
		return fmt.Errorf("create the Postgres data: %w", err)
	}
	c, err := s.run(program{
		name:     "postgres",
		path:     p.binaries.server(),
		args:     p.arguments(),
		dir:      p.dirs.postgres,
		shutdown: postgresShutdown,
	}, p.account, filepath.Join(p.dirs.logs, "postgres.log"))
	if err != nil {
		return err
	}
	return c.waitReady(ctx, p.probe)
}

func (p *postgresServer) arguments() []string {
	settings := []string{
		"listen_addresses=",
		// Quoted, since it is a list that commas separate.
		`unix_socket_directories="` + p.sockets + `"`,
		"unix_socket_permissions=0700",
		"port=" + postgresPort,
		clusterMarker,
		"logging_collector=off", // we collect, to bound it and to show the end of it
		"log_destination=stderr",
	}
	if p.fastUnsafe {
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off",
			"wal_level=minimal", "max_wal_senders=0", "max_connections=300")
	}
	args := []string{"-D", p.dirs.postgres}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	return args
}

// clearLeftover makes way for a start: it ends a Postgres that a killed Kiroku
// left, and defuses a pid file that names a stranger.
func (p *postgresServer) clearLeftover(ctx context.Context) error {
	pidFile := filepath.Join(p.dirs.postgres, "postmaster.pid")
	stranger, err := leftover{
		name:     "postgres",
		pidFile:  pidFile,
		programs: []string{"postgres"},
		dir:      p.dirs.postgres,
		argument: p.dirs.postgres,
		marker:   clusterMarker,
		shutdown: postgresShutdown,
	}.stop(ctx)
	if err != nil || stranger == 0 {
		return err
	}
	// Postgres would take the stranger for itself and refuse to start. It
	// ignores the number of its own parent, and then still looks at the shared
	// memory that the file names, which removing the file would prevent.
	data, err := os.ReadFile(pidFile) //nolint:gosec // a file of our data directory
	if err != nil {
		return fmt.Errorf("stale pid file: %w", err)
	}
	_, rest, _ := strings.Cut(string(data), "\n")
	//nolint:gosec // the path is ours, only the rest of the text comes from the file
	if err := os.WriteFile(pidFile, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600); err != nil {
		return fmt.Errorf("stale pid file: %w", err)
	}
	return nil
}

// initialise makes the cluster unless there is one. It is made elsewhere and
// moved when complete, so a start that is killed leaves no half of one.
func (p *postgresServer) initialise(ctx context.Context, l *launcher) error {
	if _, err := os.Stat(p.dirs.postgres); err == nil {
		return p.readPassword()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.RemoveAll(p.dirs.postgresInit); err != nil {
		return err
	}
	if err := p.account.makeDir(p.dirs.postgresInit); err != nil {
		return err
	}
	// The password comes first: with a cluster but no password nobody gets in.
	if err := p.createPassword(); err != nil {
		return err
	}
	if err := p.initdb(ctx, l); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(p.dirs.postgresInit, "data"), p.dirs.postgres); err != nil {
		return err
	}
	return os.RemoveAll(p.dirs.postgresInit)
}

func (p *postgresServer) initdb(ctx context.Context, l *launcher) error {
	data, passwordFile := filepath.Join(p.dirs.postgresInit, "data"), filepath.Join(p.dirs.postgresInit, "password")
	if err := p.writeOwned(passwordFile, p.password+"\n"); err != nil {
		return err
	}
	// Locale C sorts alike on every system and in every release of one, so an
	// upgrade of the C library can never spoil an index.
	args := []string{
		"-D", data, "--username=" + databaseUser, "--pwfile=" + passwordFile, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--data-checksums",
	}
	if p.fastUnsafe {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, p.binaries.initdb(), args...) //nolint:gosec // the program we are here to run
	cmd.Dir, cmd.Env, cmd.SysProcAttr, cmd.WaitDelay = p.dirs.postgresInit, childEnvironment(), p.account.attributes(), outputPatience
	setDeathSignal(cmd.SysProcAttr, syscall.SIGKILL)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := l.start(cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		oneLine := strings.Join(strings.Fields(output.String()), " ")
		return fmt.Errorf("initdb: %w: %s", cmp.Or(ctx.Err(), err), oneLine)
	}
	if err := appendFile(filepath.Join(data, "postgresql.conf"), postgresConf); err != nil {
		return err
	}
	return p.writeOwned(filepath.Join(data, "pg_hba.conf"), postgresHBA)
}

func (p *postgresServer) writeOwned(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	return p.account.own(path)
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // a file of our data directory
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func (p *postgresServer) createPassword() error {
	p.password = rand.Text()
	return os.WriteFile(p.dirs.password, []byte(p.password+"\n"), 0o600)
}

func (p *postgresServer) readPassword() error {
	data, err := os.ReadFile(p.dirs.password)
	if err != nil {
		return fmt.Errorf("the password of the data in %s: %w", p.dirs.postgres, err)
	}
	p.password = strings.TrimSpace(string(data))
	return nil
}

// probe connects, and makes the database at the first success.
func (p *postgresServer) probe(ctx context.Context) (retry bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.url("postgres"))
	if err != nil {
		var refusal *pgconn.PgError
		if errors.As(err, &refusal) && refusal.Code != sqlStateCannotConnectNow {
			return false, err
		}
		return true, err
	}
	err = createDatabase(ctx, conn)
	return false, errors.Join(err, conn.Close(ctx))
}

func createDatabase(ctx context.Context, conn *pgx.Conn) error {
	var exists bool
	if err := conn.QueryRow(ctx, sqlDatabaseExists, databaseName).Scan(&exists); err != nil || exists {
		return err
	}
	_, err := conn.Exec(ctx, sqlCreateDatabase)
	return err
}
