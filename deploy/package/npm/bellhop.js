#!/usr/bin/env node
// Runs the program of this machine's platform, which is in a package of its own.
"use strict";
const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "bellhop.exe" : "bellhop";
let program;
try {
  program = require.resolve(`@bellhop/cli-${platform}/${file}`);
} catch {
  console.error(`bellhop: the package @bellhop/cli-${platform} is not installed.`);
  console.error("Install without --omit=optional. There are packages for Linux, macOS and Windows on x64 and arm64.");
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends SIGINT to the program too: a second one would mean more to "bellhop chat".
process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`bellhop: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
