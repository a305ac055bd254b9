package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"

	"bellhop/protocol"
)

// nodeBroker is the broker of reference/: the basic flow of the protocol as a web team
// writes it in Node, in one process. It deduplicates and orders nothing.
type nodeBroker struct {
	*run
	*child
	url   string
	token string // of its one user
}

// nodeBroker starts the reference on a database of its own in the cluster.
func (r *run) nodeBroker(pg *cluster) *nodeBroker {
	node := must(exec.LookPath("node"))
	check(pg.Exec("CREATE DATABASE reference"))
	address, key := freeAddress(), make([]byte, 32)
	must(rand.Read(key))
	n := &nodeBroker{run: r, url: "http://" + address}
	n.child = r.child([]string{node, filepath.Join(r.reference, "server.js")},
		"LISTEN="+address, "PUBLIC_URL="+n.url, "KEY="+hex.EncodeToString(key), "NODE_ENV=production",
		"PGHOST="+pg.Dir(), "PGUSER=postgres", "PGDATABASE=reference")
	n.name = "the Node broker"
	r.ready(n.child, n.url)
	var user struct{ Token string }
	n.post(r.ctx, "/api/users", struct{}{}, &user)
	n.token = user.Token
	return n
}

// tasks creates n tasks on a host.
func (n *nodeBroker) tasks(hostURL string, count int) []string {
	ids := make([]string, count)
	n.parallel(count, 8, func(ctx context.Context, i int) {
		var task struct{ ID string }
		n.post(ctx, "/api/tasks", map[string]string{
			"title": fmt.Sprintf("task %d", i), "agentUrl": hostURL, "agentPassword": hostPassword,
		}, &task)
		ids[i] = task.ID
	})
	return ids
}

func (n *nodeBroker) checkIn(ctx context.Context, taskID string) {
	var out protocol.CheckInResponse
	n.post(ctx, "/api/agent", &protocol.CheckInRequest{TaskID: taskID, Message: "work"}, &out)
}

// post sends a value and parses the answer into out.
func (n *nodeBroker) post(ctx context.Context, path string, in, out any) {
	body := must(readAll(must(request(ctx, http.MethodPost, n.url+path, "Bearer "+n.token, must(json.Marshal(in))))))
	check(json.Unmarshal(body, out))
}

// targets are tasks with the webhooks that a stub of a host learned by their check-ins.
func (n *nodeBroker) targets(host *stub, count int) []*target {
	return each(n.tasks(host.url, count), func(id string) *target {
		n.checkIn(n.ctx, id)
		return &target{id: id, webhook: must(url.Parse(host.webhook(id))).RequestURI()}
	})
}
