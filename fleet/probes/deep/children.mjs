// Programs that are run under a time limit, each in a group of its own, and all surely ended.

import { spawn } from "node:child_process";
import fs from "node:fs";

const MAX_SAID = 64 * 1024;
const GRACE_MS = 700;
const NAP_MS = 30;

export class Children {
  #groups = new Set();

  /**
   * @param {string} mark a value found in the environment of all that is started, and nowhere else
   * @param {string} ledger a file that names the groups, for the janitor
   */
  constructor(mark, ledger) {
    this.mark = mark;
    this.ledger = ledger;
  }

  /** Take a group over: it will be ended, by the janitor if need be. */
  own(pid) {
    if (pid === undefined) return;
    this.#groups.add(pid);
    fs.appendFileSync(this.ledger, `${pid}\n`);
  }

  /** Run a program to its end or its limit; resolves to how it ended and what it said. */
  run(program, words, { env, cwd, seconds }) {
    const started = performance.now();
    const child = spawn(program, words, { env, cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.own(child.pid);
    const said = { out: "", err: "" };
    for (const [name, stream] of [["out", child.stdout], ["err", child.stderr]]) {
      stream.setEncoding("utf8").on("data", (text) => {
        if (said[name].length < MAX_SAID) said[name] += text;
      });
    }
    return new Promise((resolve) => {
      let late = false;
      let ended = false;
      const end = (status, error) => {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        this.kill(child.pid);
        const milliseconds = Math.round(performance.now() - started);
        resolve({ status, late, error, milliseconds, out: said.out, err: said.err });
      };
      const timer = setTimeout(() => {
        late = true;
        this.kill(child.pid);
        setTimeout(end, GRACE_MS, null); // An escaped process may hold its streams open.
      }, seconds * 1000);
      child.once("error", (error) => end(null, error.code ?? error.message));
      child.once("exit", (code) => setTimeout(end, GRACE_MS, code));
      child.once("close", (code) => end(code));
    });
  }

  kill(pid) {
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The group is gone.
    }
  }

  /** End all groups, and what left them: it still carries the mark. Returns how many had left. */
  async end() {
    for (const pid of this.#groups) this.kill(pid);
    let escaped = 0;
    for (let round = 0; round < 5; round += 1) {
      const marked = this.#marked();
      if (marked.length === 0) break;
      for (const pid of marked) {
        try {
          process.kill(pid, "SIGKILL");
          escaped += 1;
        } catch {
          // It has ended by itself.
        }
      }
      await new Promise((resolve) => setTimeout(resolve, NAP_MS));
    }
    return escaped;
  }

  #marked() {
    let names;
    try {
      names = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    } catch {
      return []; // No /proc here: groups are all that can be ended.
    }
    return names.map(Number).filter((pid) => pid !== process.pid && this.#carries(pid));
  }

  #carries(pid) {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(this.mark);
    } catch {
      return false; // Ended meanwhile, or another user's.
    }
  }
}
