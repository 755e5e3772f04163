package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"log"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"writer/audit"
)

const update = "update invoice set status = $1, backend = pg_backend_pid() where id = 7"

var errStep = errors.New("the step fails")

type executor interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "pool_max_conns=1")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		step := map[string]string{}
		for _, field := range strings.Split(lines.Text(), " ") {
			name, text, _ := strings.Cut(field, ":")
			value, _ := base64.StdEncoding.DecodeString(text)
			step[name] = string(value)
		}
		change := func(connection executor) error {
			_, err := connection.Exec(ctx, update, step["status"])
			return err
		}
		if step["way"] == "plain" {
			err = change(pool)
		} else {
			actor := audit.Actor{ID: step["actor"], Tenant: step["tenant"], Context: step["context"]}
			err = audit.ActingAs(ctx, pool, actor, func(tx pgx.Tx) error {
				if err := change(tx); err != nil || step["way"] != "fails" {
					return err
				}
				return errStep
			})
		}
		if err != nil && !errors.Is(err, errStep) && !strings.Contains(err.Error(), "terminating connection") {
			log.Fatal(err)
		}
	}
}
