package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runtimes are programs that call much of what the filter knows, each with one that uses threads and children.
var runtimes = map[string]struct {
	file, content string
	args          []string
	want          []string
	sockets       bool // it needs socket files, which programs without namespaces do not have
}{
	"Node.js": {
		"main.js", `const {execFileSync} = require("child_process"), {Worker} = require("worker_threads"), os = require("os")
os.setPriority(19)
console.log(execFileSync(process.execPath, ["-e", "console.log('child')"]).toString().trim())
new Worker("require('worker_threads').parentPort.postMessage('thread')", {eval: true}).on("message", console.log)
if (!(process.constrainedMemory() >= 0) || !(os.availableParallelism() > 0)) throw new Error("no limits")
`, []string{"node", "main.js"}, []string{"child", "thread"}, false,
	},
	"Python": {
		"main.py", `import asyncio, os, resource, subprocess, threading
os.nice(1)
os.sched_setaffinity(0, os.sched_getaffinity(0))
resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
thread = threading.Thread(target=lambda: print("thread", flush=True))
thread.start()
thread.join()
print(subprocess.check_output(["echo", "child"], text=True).strip())
async def main():
    child = await asyncio.create_subprocess_exec("echo", "task", stdout=subprocess.PIPE)
    print((await child.communicate())[0].decode().strip())
asyncio.run(main())
`, []string{"/usr/bin/python3", "main.py"}, []string{"thread", "child", "task"}, false,
	},
	// With this policy it sets the priorities of its threads by their ids, and goes on when that is refused.
	"a JVM": {
		"Main.java", `public class Main {
	public static void main(String[] args) throws Exception {
		Thread thread = new Thread(() -> System.out.println("thread"));
		thread.setPriority(Thread.MAX_PRIORITY);
		thread.start();
		thread.join();
		System.out.print(new String(new ProcessBuilder("echo", "child").start().getInputStream().readAllBytes()));
	}
}
`, []string{"java", "-XX:ThreadPriorityPolicy=1", "Main.java"}, []string{"thread", "child"}, false,
	},
	"Chromium": {
		file: "page.html", content: page, args: append([]string{"chromium", "--headless"}, pageArgs...),
		want: []string{"drawn"}, sockets: true,
	},
	"Chromium's headless shell": {
		file: "page.html", content: page, args: append([]string{"chromium-headless-shell"}, pageArgs...),
		want: []string{"drawn"},
	},
}

const page = `<p id="text"></p><script>document.getElementById("text").textContent = "dr" + "awn"</script>`

var pageArgs = []string{
	"--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-breakpad", "--dump-dom", "page.html",
}

// What the sandbox refuses them, common runtimes do without.
func TestRuntimesRunInTheSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range runtimes {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.args[0]); err != nil && c.args[0] == "chromium-headless-shell" {
				t.Log("not every system has a package of it")
				return
			}
			for _, options := range []Options{{NoNamespaces: true}, {}} {
				if options.NoNamespaces && c.sockets {
					continue
				}
				m := newOrdinaryMachine(t, options)
				file := filepath.Join(m.Workspace, c.file)
				must(t, os.WriteFile(file, []byte(c.content), 0o644)) //nolint:gosec // the program's user reads it
				out, err := m.run(c.args...)
				for _, want := range c.want {
					if err != nil || !strings.Contains(out, want) {
						t.Errorf("%+v: %s, %v", options, out, err)
					}
				}
			}
		})
	}
}

// With namespaces a program names its own threads: no process of the host has an id there.
func TestProgramsScheduleTheirOwnProcesses(t *testing.T) {
	t.Parallel()
	script := `sleep 1000 >/dev/null 2>&1 & trap "kill $!" EXIT; list=$(taskset -cp $! | sed 's/.*: //')
		taskset -cp "$list" $! && renice -n 19 -p $! && prlimit --core=0:0 --pid $!`
	if out, err := newMachine(t, Options{}).run("sh", "-e", "-c", script); err != nil {
		t.Errorf("%s, %v", out, err)
	}
}

// The kernel refuses fewer than 301 process ids, which would cost the namespaces, and gives out the first 300 once.
func TestTheLimitOfProcessesIsOneThatTheKernelTakes(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{minProcesses, 1 << 30} {
		m := newMachine(t, Options{Processes: processes})
		if level := m.sandbox.Level(); !level.Namespaces || level.NoNamespaces != "" {
			t.Errorf("%d: %s", processes, level.Summary())
		}
		script := `i=0; while [ $i -lt 400 ]; do (:); i=$((i+1)); done # use up the first ids
			i=0; while [ $i -lt 24 ]; do sleep 5 >/dev/null 2>&1 & i=$((i+1)); done; echo $i`
		if out, err := m.run("sh", "-e", "-c", script); err != nil || out != "24\n" {
			t.Errorf("%d: %s, %v", processes, out, err)
		}
	}
}

// Runtimes choose the size of their memory by the limit of their session.
func TestAProgramReadsTheLimitsOfItsSession(t *testing.T) {
	t.Parallel()
	parent := realGroup(t)
	if parent == "" {
		t.Log("the system has no control groups")
		return
	}
	for _, options := range []Options{{NoNamespaces: true}, {}} {
		options.GroupParent = parent
		m := newMachine(t, options)
		out, err := m.run("sh", "-e", "-c", `group=/sys/fs/cgroup; for name in unified ""; do
			dir=$group/$name$(sed -n 's/^0:://p' /proc/self/cgroup); [ ! -r $dir/cgroup.procs ] || cat $dir/cgroup.procs; done`)
		if err != nil || !strings.Contains(out, "\n") {
			t.Errorf("%+v: %q, %v", options, out, err)
		}
	}
}
