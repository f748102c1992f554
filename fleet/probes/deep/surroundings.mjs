// What pi gets to see of the target while it is checked: programs, and an environment without
// anything that could open the real palace or pass a secret on.

import fs from "node:fs";
import path from "node:path";

const KEPT = /^(?:PATH|LANG|LC_\w+|TERM|COLORTERM|TZ|SHELL|USER|LOGNAME|NODE_OPTIONS|NODE_EXTRA_CA_CERTS|LD_LIBRARY_PATH|DYLD_\w+|NIX_\w+|PYENV_\w+|ASDF_\w+|MISE_\w+|MEMPALACE_\w+|PI_\w+)$/;
const SECRET = /TOKEN|SECRET|PASSW|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL/i;
// Where the palace is and who may open it: the check's own values stand in for these.
const REPLACED = /^(?:MEMPALACE_(?:REMOTE_\w+|PALACE_\w+|MCP_\w+|PI_SSH_\w+|PI_REMOTE_PATH|HOME|CONFIG\w*)|PI_CODING_AGENT\w*|PI_SHARE_\w+|PI_OFFLINE)$/;
// Version managers find their programs below the real home, which is hidden from pi.
const MANAGERS = { PYENV_ROOT: ".pyenv", ASDF_DATA_DIR: ".asdf", MISE_DATA_DIR: ".local/share/mise" };
const HEADS = [0x7f454c46, 0xfeedface, 0xfeedfacf, 0xcefaedfe, 0xcffaedfe, 0xcafebabe];

export const NAMES = { url: "MEMPALACE_REMOTE_URL", device: "MEMPALACE_PI_DEVICE", ssh: "MEMPALACE_PI_SSH_TARGET" };

/** The first program of this name on a PATH, or undefined. */
export function which(name, search) {
  for (const folder of search.split(":").filter((each) => each.startsWith("/"))) {
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      if (fs.statSync(file).isFile()) return file;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

/** Whether a file is machine code, and no script that node reads. */
export function isCompiled(file) {
  const handle = fs.openSync(file, "r");
  try {
    const head = Buffer.alloc(4);
    return fs.readSync(handle, head) === 4 && HEADS.includes(head.readUInt32BE());
  } finally {
    fs.closeSync(handle);
  }
}

/** The package that pi is part of: its folder and version; undefined behind an unknown wrapper. */
export function packageOf(file) {
  for (let at = path.dirname(fs.realpathSync(file)); at !== path.dirname(at); at = path.dirname(at)) {
    try {
      const manifest = JSON.parse(fs.readFileSync(path.join(at, "package.json"), "utf8"));
      if (/pi-coding-agent$/.test(manifest.name ?? "")) return { root: at, version: String(manifest.version) };
    } catch {
      // No manifest here, or none that can be read.
    }
  }
  return undefined;
}

/** The events that this pi fires, as its own type declarations name them. */
export function knownEvents(root) {
  try {
    const types = fs.readFileSync(path.join(root, "dist/core/extensions/types.d.ts"), "utf8");
    return [...new Set([...types.matchAll(/\bon\(event: "([a-z_]+)"/g)].map((found) => found[1]))];
  } catch {
    return [];
  }
}

/** Secret values of this process, and further ones, longest first, to be struck out of what is told. */
export function secretsOf(env, further = []) {
  const values = Object.entries(env).filter(([name, value]) => SECRET.test(name) && value.length >= 6);
  return [...values.map(([, value]) => value), ...further].sort((a, b) => b.length - a.length);
}

/** The environment of one run of pi: what it may keep, and what the check puts in place. */
export function environment(own, home, added) {
  const env = {};
  for (const [name, value] of Object.entries(own)) {
    if (KEPT.test(name) && !SECRET.test(name) && !REPLACED.test(name)) env[name] = value;
  }
  for (const [name, folder] of Object.entries(MANAGERS)) {
    const at = path.join(own.HOME ?? "/", folder);
    if (env[name] === undefined && fs.existsSync(at)) env[name] = at;
  }
  const below = (name) => path.join(home, name);
  return {
    ...env,
    HOME: home,
    XDG_CONFIG_HOME: below(".config"),
    XDG_DATA_HOME: below(".local/share"),
    XDG_STATE_HOME: below(".local/state"),
    XDG_CACHE_HOME: below(".cache"),
    PI_OFFLINE: "1",
    ...added,
  };
}

/** Place the programs that stand in for those which reach the palace or its host. */
export function standIns(folder, { node, program, own, helper, always }) {
  fs.mkdirSync(folder, { recursive: true });
  const search = own.PATH ?? "";
  const place = (name, script) => fs.writeFileSync(path.join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  if (always || which("mempalace-mcp", search)) place("mempalace-mcp", `exec ${quoted(node)} ${quoted(program)}`);
  for (const name of ["rsync", "ssh"]) if (which(name, search)) place(name, "exit 0");
  const real = helper.includes("/") ? (fs.existsSync(helper) ? helper : undefined) : which(helper, search);
  if (real === undefined) return {};
  place("fleet-feed", feedScript(real));
  if (helper.includes("/")) return { MEMPALACE_FEED_BIN: path.join(folder, "fleet-feed") };
  place(helper, feedScript(real));
  return {};
}

/** Run the target's own helper, and note what it was asked and what it answered. */
function feedScript(real) {
  return `held=$(mktemp "\${TMPDIR:-/tmp}/feed.XXXXXX") || exit 1
${quoted(real)} "$@" >"$held"
status=$?
cat "$held"
source=$(sed -n 's/^MINE_SOURCE=//p' "$held")
rm -f "$held"
printf '%s\\t%s\\t%s\\n' "$status" "$*" "$source" >>"$FLEET_DEEP_FEED"
exit $status`;
}

function quoted(word) {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
