package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bellhop/internal/process"
	"bellhop/internal/wait"
)

// Words of the command line that makes this binary another process of a scenario.
const (
	command  = "bench"
	roleWord = "role"
	teeWord  = "tee"
)

type server interface {
	Run(ctx context.Context) error
}

// roles open the servers that run in processes of their own.
var roles = map[string]func(context.Context) (server, error){
	"broker": openBroker,
	"host":   openHost,
}

// PlayRole runs the server of a role until ctx ends. It responds to each value on stdin
// with the footprint of this process. A role has the variables of the command that it
// stands for.
func PlayRole(ctx context.Context, name string, stdin io.Reader, stdout io.Writer) error {
	open := roles[name]
	if open == nil {
		return fmt.Errorf("there is no role %q", name)
	}
	opened, err := open(ctx)
	if err != nil {
		return err
	}
	go measure(json.NewDecoder(stdin), json.NewEncoder(stdout))
	return opened.Run(ctx)
}

// role starts this binary in a role.
func (r *run) role(name string, env ...string) *child {
	c := r.child([]string{must(os.Executable()), command, roleWord, name}, env...)
	c.name = name
	return c
}

const (
	startLimit = 60 * time.Second
	stopLimit  = 20 * time.Second
)

// child is a process that ends with the run at the latest.
type child struct {
	*process.Process
	name    string
	stopped bool
}

func (r *run) child(args []string, env ...string) *child {
	c := &child{name: filepath.Base(args[0])}
	c.Process = must(process.Start(process.Command{Args: args, Env: append(os.Environ(), env...)}))
	r.onClose(c.stop)
	return c
}

// stop ends the child; a second call does nothing.
func (c *child) stop() error {
	if c.stopped {
		return nil
	}
	c.stopped = true
	defer c.Stdout().Close()
	err := c.Stop(context.Background(), stopLimit)
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		return c.failed(err)
	}
	return nil
}

func (c *child) failed(err error) error {
	return fmt.Errorf("%s: %w\n%s", c.name, err, strings.Join(c.Tail(), "\n"))
}

// ready waits for a server's /readyz.
func (r *run) ready(c *child, url string) {
	r.poll("/readyz of "+c.name, startLimit, func(ctx context.Context) bool {
		select {
		case <-c.Done():
			check(c.failed(fmt.Errorf("ended at once: %w", c.Wait())))
		default:
		}
		return answers(ctx, url+"/readyz")
	})
}

// await waits until have returns want, but at most a minute.
func (r *run) await(what string, want int, have func() int) {
	r.poll(fmt.Sprintf("%d %s", want, what), time.Minute, func(context.Context) bool { return have() >= want })
}

func (r *run) poll(what string, limit time.Duration, done func(context.Context) bool) {
	ctx, cancel := context.WithTimeout(r.ctx, limit)
	defer cancel()
	if err := wait.Until(ctx, 5*time.Millisecond, done); err != nil {
		check(fmt.Errorf("wait for %s: %w", what, err))
	}
}
