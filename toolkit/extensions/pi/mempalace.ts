/**
 * mempalace.ts: the bridge between the pi coding agent and a MemPalace.
 *
 * One self-contained file, so that it loads the same through a symlink on every pi
 * (before 1.5.1 pi resolved relative imports from the link's folder, not the file's).
 *
 * What it does, in the order of a session:
 *   session_start       connect (local stdio or remote HTTP, never both), register every MCP tool
 *   before_agent_start  inject the wake-up once, on fresh sessions only, with the mail that is due
 *   agent_settled       feed the session transcripts into the palace, at most once per window;
 *                       look for new mail, at most once per window
 *   session_shutdown    feed a last time, then stop the client
 *
 * Nothing is started from the factory: pi also runs factories for `--help` and `--list-models`,
 * and two extensions that register one tool name while loading end pi. At session_start the
 * tools that another extension owns can be seen and left alone.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

// ---------------------------------------------------------------------------------------------
// Settings: read once, when the extension loads. pi has no dotenv and no env block in its
// settings, so the environment of the shell that launched pi is the only source.
// ---------------------------------------------------------------------------------------------

interface Settings {
  /** Where the shared palace answers; undefined means a local palace over stdio. */
  remoteUrl: string | undefined;
  remoteToken: string | undefined;
  /** Name of this machine in the shared palace. */
  device: string | undefined;
  agentName: string;
  debug: boolean;
  /** Milliseconds for one request; 0 waits for ever. */
  requestTimeoutMs: number;
  /** Milliseconds for each request of the handshake; 0 waits for ever. */
  initTimeoutMs: number;
  maxRespawns: number;
  respawnBackoffMs: number;
  feed: FeedSettings;
  mailbox: MailboxSettings;
}

interface FeedSettings {
  enabled: boolean;
  bin: string;
  wing: string;
  debounceMs: number;
  prepareTimeoutMs: number;
  mineTimeoutMs: number;
}

interface MailboxSettings {
  enabled: boolean;
  /** Least milliseconds between two looks; 0 looks after every turn. */
  pollMs: number;
  /** Who is told that mail came: nobody, pi's screen, or the terminal's desktop too. */
  notify: "off" | "screen" | "desktop";
}

function readSettings(env: NodeJS.ProcessEnv): Settings {
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  const count = (name: string, fallback: number): number => {
    const raw = text(name);
    const value = raw === undefined ? Number.NaN : Number(raw);
    return Number.isFinite(value) && value >= 0 ? Math.min(Math.floor(value), MAX_TIMER_MS) : fallback;
  };
  return {
    remoteUrl: text("MEMPALACE_REMOTE_URL"),
    remoteToken: text("MEMPALACE_REMOTE_TOKEN"),
    device: text("MEMPALACE_PI_DEVICE"),
    agentName: text("MEMPALACE_AGENT_NAME") ?? "pi",
    debug: text("MEMPALACE_EXT_DEBUG") === "1",
    requestTimeoutMs: count("MEMPALACE_MCP_TIMEOUT_MS", 60_000),
    initTimeoutMs: count("MEMPALACE_MCP_INIT_TIMEOUT_MS", 300_000),
    maxRespawns: count("MEMPALACE_MCP_MAX_RESPAWNS", 2),
    respawnBackoffMs: count("MEMPALACE_MCP_RESPAWN_BACKOFF_MS", 1_000),
    feed: {
      enabled: text("MEMPALACE_FEED") !== "0",
      bin: text("MEMPALACE_FEED_BIN") ?? "mempalace-pi-session",
      wing: text("MEMPALACE_FEED_WING") ?? "wing_conversations",
      debounceMs: count("MEMPALACE_FEED_DEBOUNCE_MS", 600_000),
      prepareTimeoutMs: count("MEMPALACE_FEED_PREPARE_TIMEOUT_MS", 120_000),
      mineTimeoutMs: count("MEMPALACE_FEED_MINE_TIMEOUT_MS", 30_000),
    },
    mailbox: {
      enabled: text("MEMPALACE_MAILBOX") !== "0",
      pollMs: count("MEMPALACE_MAILBOX_POLL_MS", 300_000),
      notify: notifyMode(text("MEMPALACE_MAILBOX_NOTIFY")?.toLowerCase()),
    },
  };
}

function notifyMode(word: string | undefined): MailboxSettings["notify"] {
  if (word === "0" || word === "off") return "off";
  return word === "desktop" ? "desktop" : "screen";
}

// ---------------------------------------------------------------------------------------------
// Small things
// ---------------------------------------------------------------------------------------------

const HARNESS = "pi";
const PROTOCOL_VERSION = "2025-06-18";
const CLIENT_INFO = { name: "mempalace-pi-bridge", version: "1" };
const KILL_GRACE_MS = 2_000;
/** A timer set for longer than this fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_REPLY_BYTES = 64 * 1024 * 1024;
const MAX_TOOL_PAGES = 100;

type Json = Record<string, unknown>;

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** One printable line: what a server or a subprocess said may hold control bytes. */
function oneLine(text: string, limit = 300): string {
  const clean = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, " ").trim();
  return clipped(clean, limit);
}

/** Text of several lines without what a terminal would obey. */
function printable(text: string): string {
  return text.replace(/\r\n?/g, "\n").replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "");
}

function clipped(text: string, limit: number): string {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function reasonOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Ask a child to end, and make it end when it does not. Resolves when it is gone. */
async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  await new Promise<void>((resolve) => {
    const hard = setTimeout(() => child.kill("SIGKILL"), KILL_GRACE_MS);
    child.once("exit", () => {
      clearTimeout(hard);
      resolve();
    });
    child.kill("SIGTERM");
  });
}

// ---------------------------------------------------------------------------------------------
// MCP: one interface, two transports
// ---------------------------------------------------------------------------------------------

interface McpTool {
  name: string;
  description?: string;
  inputSchema?: Json;
}

interface ToolResult {
  content: Json[];
  isError: boolean;
}

interface RequestLimits {
  /** Milliseconds; 0 waits for ever. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Whether a request that gets no answer in time ends the server process (stdio only). */
  killOnStall: boolean;
}

interface McpClient {
  /** How the server is named in messages; holds no secret. */
  readonly endpoint: string;
  /** Whether requests can be sent right now. */
  readonly alive: boolean;
  start(): Promise<void>;
  request(method: string, params: Json, limits: RequestLimits): Promise<unknown>;
  notify(method: string, params: Json): Promise<void>;
  stop(): Promise<void>;
}

/** The server forgot this session: nothing was done, a new handshake may repeat the request. */
class SessionLostError extends Error {}

function stalled(method: string, timeoutMs: number): Error {
  return new Error(`mempalace did not answer ${method} within ${timeoutMs} ms`);
}

/** The result of a JSON-RPC reply, or its error thrown. */
function resultOf(reply: Json): unknown {
  if (!isObject(reply.error)) return reply.result;
  const code = typeof reply.error.code === "number" ? ` (${reply.error.code})` : "";
  throw new Error(oneLine(`${reply.error.message ?? "the server reported an error"}`) + code);
}

/** A local palace: `mempalace-mcp` as a child, one JSON-RPC message a line. */
class StdioMcpClient implements McpClient {
  readonly endpoint = "mempalace-mcp";
  private child: ChildProcess | undefined;
  private nextId = 0;
  private readonly waiting = new Map<number, (reply: Json | Error) => void>();

  constructor(private readonly debug: boolean) {}

  get alive(): boolean {
    return this.child !== undefined;
  }

  async start(): Promise<void> {
    const child = spawn("mempalace-mcp", [], { stdio: ["pipe", "pipe", this.debug ? "inherit" : "ignore"] });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error: NodeJS.ErrnoException) =>
        reject(new Error(error.code === "ENOENT" ? "mempalace-mcp is not on the PATH" : error.message)),
      );
    });
    this.child = child;
    child.on("error", (error) => this.lost(child, error.message));
    child.on("exit", (code, signal) => this.lost(child, `mempalace-mcp ended (${signal ?? `exit code ${code}`})`));
    child.stdin?.on("error", () => undefined);
    if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => this.receive(line));
  }

  request(method: string, params: Json, limits: RequestLimits): Promise<unknown> {
    const child = this.child;
    if (!child) return Promise.reject(new Error("mempalace-mcp is not running"));
    const id = ++this.nextId;
    return new Promise((resolve, reject) => {
      const settle = (reply: Json | Error): void => {
        clearTimeout(timer);
        limits.signal?.removeEventListener("abort", cancel);
        this.waiting.delete(id);
        if (reply instanceof Error) return reject(reply);
        try {
          resolve(resultOf(reply));
        } catch (error) {
          reject(error);
        }
      };
      const cancel = (): void => {
        this.write({ method: "notifications/cancelled", params: { requestId: id } });
        settle(new Error(`${method} was cancelled`));
      };
      const stall = (): void => {
        settle(stalled(method, limits.timeoutMs));
        if (limits.killOnStall) this.drop(child, "mempalace-mcp was stopped because it stalled");
      };
      const timer = limits.timeoutMs > 0 ? setTimeout(stall, limits.timeoutMs) : undefined;
      this.waiting.set(id, settle);
      if (limits.signal?.aborted) return cancel();
      limits.signal?.addEventListener("abort", cancel, { once: true });
      this.write({ id, method, params });
    });
  }

  async notify(method: string, params: Json): Promise<void> {
    this.write({ method, params });
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (!child) return;
    this.lost(child, "the bridge is stopping");
    child.stdin?.end();
    await endChild(child);
  }

  private write(message: Json): void {
    this.child?.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  private receive(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      return; // A stray print on stdout is not protocol.
    }
    if (!isObject(message)) return;
    if (typeof message.method === "string") return this.answer(message);
    if (typeof message.id === "number") this.waiting.get(message.id)?.(message);
  }

  /** A server may ask its client: `ping` deserves an answer, all else is not offered. */
  private answer(message: Json): void {
    if (message.id === undefined) return;
    const refusal = { error: { code: -32601, message: "not supported by this client" } };
    this.write({ id: message.id, ...(message.method === "ping" ? { result: {} } : refusal) });
  }

  private drop(child: ChildProcess, why: string): void {
    this.lost(child, why);
    void endChild(child);
  }

  private lost(child: ChildProcess, why: string): void {
    if (this.child !== child) return;
    this.child = undefined;
    for (const settle of [...this.waiting.values()]) settle(new Error(why));
  }
}

// MCP-STREAMABLE-HTTP-CLIENT-SYNC: 1
// Bump this token together with any other vendored copy of the client below.

/** A shared palace: MCP over HTTP, each message one POST, answers as JSON or as an event stream. */
class RemoteMcpClient implements McpClient {
  readonly endpoint: string;
  private readonly url: URL | undefined;
  private started = false;
  private sessionId: string | undefined;
  private protocolVersion: string | undefined;
  private nextId = 0;

  constructor(
    address: string,
    private readonly token: string | undefined,
  ) {
    this.url = URL.canParse(address) ? new URL(address) : undefined;
    this.endpoint = this.url ? `${this.url.origin}${this.url.pathname}` : "MEMPALACE_REMOTE_URL";
  }

  get alive(): boolean {
    return this.started;
  }

  async start(): Promise<void> {
    if (!this.url || !["http:", "https:"].includes(this.url.protocol)) {
      throw new Error("MEMPALACE_REMOTE_URL is not an http or https address");
    }
    if (this.url.username || this.url.password) {
      throw new Error("MEMPALACE_REMOTE_URL must not hold credentials: use MEMPALACE_REMOTE_TOKEN");
    }
    this.sessionId = undefined;
    this.protocolVersion = undefined;
    this.started = true;
  }

  async request(method: string, params: Json, limits: RequestLimits): Promise<unknown> {
    const id = ++this.nextId;
    const deadline = limits.timeoutMs > 0 ? AbortSignal.timeout(limits.timeoutMs) : undefined;
    const signals = [deadline, limits.signal].filter((s): s is AbortSignal => s !== undefined);
    try {
      const response = await this.post({ id, method, params }, AbortSignal.any(signals));
      const result = resultOf(await readReply(response, id));
      if (method === "initialize" && isObject(result) && typeof result.protocolVersion === "string") {
        this.protocolVersion = result.protocolVersion;
      }
      return result;
    } catch (error) {
      if (deadline?.aborted) throw stalled(method, limits.timeoutMs);
      if (limits.signal?.aborted) throw new Error(`${method} was cancelled`);
      throw error;
    }
  }

  async notify(method: string, params: Json): Promise<void> {
    const response = await this.post({ method, params }, AbortSignal.timeout(30_000));
    await response.body?.cancel();
  }

  async stop(): Promise<void> {
    this.started = false;
    if (!this.sessionId || !this.url) return;
    const ending = { method: "DELETE", headers: this.headers(), signal: AbortSignal.timeout(KILL_GRACE_MS) };
    this.sessionId = undefined;
    await fetch(this.url, ending).then(
      (response) => response.body?.cancel(),
      () => undefined,
    );
  }

  private headers(): Record<string, string> {
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(this.token ? { authorization: `Bearer ${this.token}` } : {}),
      ...(this.sessionId ? { "mcp-session-id": this.sessionId } : {}),
      ...(this.protocolVersion ? { "mcp-protocol-version": this.protocolVersion } : {}),
    };
  }

  private async post(message: Json, signal: AbortSignal): Promise<Response> {
    if (!this.url || !this.started) throw new Error("the palace connection is closed");
    const response = await fetch(this.url, {
      method: "POST",
      headers: this.headers(),
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      redirect: "manual",
      signal,
    }).catch((error: unknown) => {
      throw new Error(`${networkReason(error)} from ${this.endpoint}`);
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw this.refusal(response.status);
    }
    this.sessionId = response.headers.get("mcp-session-id") ?? this.sessionId;
    return response;
  }

  private refusal(status: number): Error {
    const hints: Record<number, string> = {
      401: "MEMPALACE_REMOTE_TOKEN is missing or wrong",
      403: "the server refuses this host name or origin",
      404: "check the path, which is usually /mcp",
    };
    if (status === 404 && this.sessionId) return new SessionLostError("the palace closed this session");
    const redirect = status >= 300 && status < 400 ? "set MEMPALACE_REMOTE_URL to the final address" : "";
    const hint = hints[status] ?? redirect;
    return new Error(`HTTP ${status} from ${this.endpoint}${hint ? `: ${hint}` : ""}`);
  }
}

/** fetch says only "fetch failed"; what happened is in its cause. */
function networkReason(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (isObject(cause) && typeof cause.code === "string") return cause.code;
  return cause instanceof Error ? reasonOf(cause) : reasonOf(error);
}

/** The JSON-RPC message with this id, from a plain JSON body or an event stream. */
async function readReply(response: Response, id: number): Promise<Json> {
  const streamed = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
  const pick = (text: string): Json | undefined => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch {
      if (streamed) return undefined; // Keep-alives and other events share the stream.
      throw new Error("the palace answered with something that is not JSON");
    }
    const messages: unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    return messages.filter(isObject).find((m) => m.id === id && m.method === undefined);
  };
  for await (const text of streamed ? eventData(response) : wholeBody(response)) {
    const reply = pick(text);
    if (reply) return reply;
  }
  throw new Error("the palace answered without a reply to this request");
}

async function* wholeBody(response: Response): AsyncGenerator<string> {
  let body = "";
  for await (const piece of decoded(response)) body += piece;
  yield body;
}

/** The data of each server-sent event, in order. Leaving the loop closes the stream. */
async function* eventData(response: Response): AsyncGenerator<string> {
  let rest = "";
  let data: string[] = [];
  for await (const piece of decoded(response)) {
    const lines = (rest + piece).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      if (line !== "" || data.length === 0) continue;
      yield data.join("\n");
      data = [];
    }
  }
  if (rest.startsWith("data:")) data.push(rest.slice(5).replace(/^ /, ""));
  if (data.length > 0) yield data.join("\n");
}

async function* decoded(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_REPLY_BYTES) throw new Error("the palace's reply is too large");
    yield decoder.decode(chunk, { stream: true });
  }
}

/** Either or: with a remote address set there is no local palace, not even as a fallback. */
function createClient(settings: Settings): McpClient {
  return settings.remoteUrl
    ? new RemoteMcpClient(settings.remoteUrl, settings.remoteToken)
    : new StdioMcpClient(settings.debug);
}

// ---------------------------------------------------------------------------------------------
// Provenance: who wrote this is filled in at the edge, so that no agent has to remember it.
// ---------------------------------------------------------------------------------------------

/** Which argument names the writer, by tool; the first one that the tool declares is used. */
const WRITER_ARGUMENTS: Record<string, readonly string[]> = {
  mempalace_add_drawer: ["added_by"],
  mempalace_checkpoint: ["added_by"],
  mempalace_mine: ["added_by", "agent"],
  mempalace_event_append: ["from_agent"],
  mempalace_event_ack: ["from_agent"],
  mempalace_task_create: ["from_agent"],
  mempalace_patch_submit: ["from_agent"],
  mempalace_artifact_put: ["created_by"],
};

/** The name under which this machine writes, and under which others write to it. */
function addressOf(device: string): string {
  return `${HARNESS}@${device}`;
}

class Provenance {
  private readonly writer: string;

  private constructor(private readonly device: string) {
    this.writer = addressOf(device);
  }

  /** On a solitary palace there is no second machine to tell apart: nothing is stamped. */
  static from(settings: Settings): Provenance | undefined {
    return settings.device && settings.remoteUrl ? new Provenance(settings.device) : undefined;
  }

  /** The arguments with the writer filled in where the caller left it unset. */
  stamp(tool: McpTool, args: Json): Json {
    if (tool.name === "mempalace_diary_write") return this.markEntry(args);
    const argument = this.writerArgument(tool);
    const stamped = argument && !args[argument] ? { ...args, [argument]: this.writer } : args;
    if (tool.name !== "mempalace_checkpoint" || !isObject(stamped.diary)) return stamped;
    return { ...stamped, diary: this.markEntry(stamped.diary) };
  }

  /** A schema that lets the agent leave out the writer, which would otherwise be invented. */
  relax(tool: McpTool): Json | undefined {
    const schema = tool.inputSchema;
    const argument = this.writerArgument(tool);
    if (!schema || !argument || !Array.isArray(schema.required)) return schema;
    return { ...schema, required: schema.required.filter((name) => name !== argument) };
  }

  /** The marker goes into the text: a reader of the diary sees the text and no metadata. */
  private markEntry(args: Json): Json {
    const field = args.entry ? "entry" : "content";
    const text = args[field];
    if (typeof text !== "string" || text.startsWith("HOST:")) return args;
    return { ...args, [field]: `HOST:${this.device}|${text}` };
  }

  /** Servers refuse unknown arguments, so only a declared one is used. */
  private writerArgument(tool: McpTool): string | undefined {
    const candidates = WRITER_ARGUMENTS[tool.name] ?? [];
    const declared = tool.inputSchema?.properties;
    if (!isObject(declared) || Object.keys(declared).length === 0) return candidates[0];
    return candidates.find((name) => name in declared);
  }
}

// ---------------------------------------------------------------------------------------------
// The palace: handshake, self-heal and tool calls, the same over both transports
// ---------------------------------------------------------------------------------------------

interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
  killOnStall?: boolean;
}

class Palace {
  private readonly client: McpClient;
  private readonly provenance: Provenance | undefined;
  private readonly tools = new Map<string, McpTool>();
  private respawnsLeft: number;
  private ready = false;
  private closed = false;
  private reviving: Promise<void> | undefined;

  constructor(private readonly settings: Settings) {
    this.client = createClient(settings);
    this.provenance = Provenance.from(settings);
    this.respawnsLeft = settings.maxRespawns;
  }

  /** Whether the first connection succeeded and the session has not ended. */
  get open(): boolean {
    return this.tools.size > 0 && !this.closed;
  }

  get endpoint(): string {
    return this.client.endpoint;
  }

  get names(): string[] {
    return [...this.tools.keys()];
  }

  has(tool: string): boolean {
    return this.tools.has(tool);
  }

  /** Whether a tool declares this argument: servers refuse one that they do not know. */
  takes(tool: string, argument: string): boolean {
    const declared = this.tools.get(tool)?.inputSchema?.properties;
    return isObject(declared) && argument in declared;
  }

  /** Connect for the first time, with the same bounded patience as a later respawn. */
  async connect(): Promise<McpTool[]> {
    try {
      await this.handshake();
    } catch (error) {
      await this.client.stop();
      await this.retry(error);
    }
    return [...this.tools.values()];
  }

  /** The schema under which a tool is offered to the model. */
  schemaOf(tool: McpTool): Json {
    const schema = this.provenance ? this.provenance.relax(tool) : tool.inputSchema;
    return schema ?? { type: "object", properties: {} };
  }

  async callTool(name: string, args: Json, options: CallOptions = {}): Promise<ToolResult> {
    const stamped = this.provenance ? this.provenance.stamp(this.tools.get(name) ?? { name }, args) : args;
    await this.ensureReady();
    try {
      return await this.send(name, stamped, options);
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
      await this.revive(() => this.handshake());
      return await this.send(name, stamped, options);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.client.stop();
  }

  private async send(name: string, args: Json, options: CallOptions): Promise<ToolResult> {
    const result = await this.client.request(
      "tools/call",
      { name, arguments: args },
      {
        timeoutMs: options.timeoutMs ?? this.patienceFor(name, args),
        killOnStall: options.killOnStall ?? true,
        signal: options.signal,
      },
    );
    // Only a call that worked proves that the server lives: one that dies after each handshake
    // must still reach the cap.
    this.respawnsLeft = this.settings.maxRespawns;
    const content = isObject(result) && Array.isArray(result.content) ? result.content.filter(isObject) : [];
    return { content, isError: isObject(result) && result.isError === true };
  }

  /** Waiting for an event is not a stall: that tool blocks for as long as it was asked to. */
  private patienceFor(name: string, args: Json): number {
    const base = this.settings.requestTimeoutMs;
    if (name !== "mempalace_event_wait" || base === 0) return base;
    const asked = typeof args.timeout_ms === "number" ? args.timeout_ms : 60_000;
    return Math.max(base, asked + 15_000);
  }

  private async ensureReady(): Promise<void> {
    if (this.closed) throw new Error("the palace connection is closed");
    if (this.ready && this.client.alive) return;
    await this.revive(() => this.retry(new Error(`${this.endpoint} is not running`)));
  }

  /** Calls that find the server gone at the same time share one revival. */
  private revive(work: () => Promise<void>): Promise<void> {
    this.reviving ??= work().finally(() => {
      this.reviving = undefined;
    });
    return this.reviving;
  }

  /** Start again while the budget lasts, waiting twice as long before each further attempt. */
  private async retry(cause: unknown): Promise<void> {
    let last = cause;
    while (this.respawnsLeft > 0 && !this.closed) {
      const spent = this.settings.maxRespawns - this.respawnsLeft;
      this.respawnsLeft -= 1;
      await sleep(this.settings.respawnBackoffMs * 2 ** spent);
      try {
        return await this.handshake();
      } catch (error) {
        last = error;
        await this.client.stop();
      }
    }
    throw new Error(`${reasonOf(last)}; restart pi to try again`, { cause: last });
  }

  private async handshake(): Promise<void> {
    this.ready = false;
    if (this.closed) throw new Error("the palace connection is closed");
    const limits = { timeoutMs: this.settings.initTimeoutMs, killOnStall: true };
    await this.client.start();
    await this.client.request(
      "initialize",
      { protocolVersion: PROTOCOL_VERSION, capabilities: {}, clientInfo: CLIENT_INFO },
      limits,
    );
    await this.client.notify("notifications/initialized", {});
    const listed = await this.listTools(limits);
    if (listed.length === 0) throw new Error(`${this.endpoint} offers no tools`);
    this.tools.clear();
    for (const tool of listed) this.tools.set(tool.name, tool);
    this.ready = true;
  }

  private async listTools(limits: RequestLimits): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    let cursor: unknown;
    for (let page = 0; page < MAX_TOOL_PAGES; page += 1) {
      const result = await this.client.request("tools/list", cursor === undefined ? {} : { cursor }, limits);
      if (!isObject(result) || !Array.isArray(result.tools)) throw new Error("the palace sent no tool list");
      for (const tool of result.tools) if (isTool(tool)) tools.push(tool);
      cursor = result.nextCursor;
      if (typeof cursor !== "string" || cursor === "") break;
    }
    return tools;
  }
}

function isTool(value: unknown): value is Json & McpTool {
  return (
    isObject(value) &&
    typeof value.name === "string" &&
    (value.inputSchema === undefined || isObject(value.inputSchema))
  );
}

function textOf(result: ToolResult): string {
  return result.content
    .map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : ""))
    .filter((text) => text !== "")
    .join("\n");
}

// ---------------------------------------------------------------------------------------------
// Tools: every MCP tool becomes a pi tool with its own schema
// ---------------------------------------------------------------------------------------------

type PiContent = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

function toPiContent(block: Json): PiContent {
  if (block.type === "text" && typeof block.text === "string") return { type: "text", text: block.text };
  if (block.type === "image" && typeof block.data === "string" && typeof block.mimeType === "string") {
    return { type: "image", data: block.data, mimeType: block.mimeType };
  }
  return { type: "text", text: JSON.stringify(block) };
}

function registerTools(pi: ExtensionAPI, palace: Palace, tools: McpTool[]): void {
  const owners = ownersOf(pi);
  const taken = tools.filter((tool) => owners.has(tool.name));
  if (taken.length > 0) {
    say(
      `mempalace bridge: ${taken.length} of ${tools.length} palace tools already come from ` +
        `${owners.get(taken[0].name)}; they are not registered a second time, and not stamped`,
    );
  }
  for (const tool of tools) if (!owners.has(tool.name)) registerTool(pi, palace, tool);
}

/** Where each tool of this pi comes from. */
function ownersOf(pi: ExtensionAPI): Map<string, string> {
  return new Map(pi.getAllTools().map((tool) => [tool.name, tool.sourceInfo?.path ?? "another extension"]));
}

/**
 * What to say when the model is offered palace tools twice, undefined when it is not. An MCP client
 * names them `mcp__<server>__<tool>` or `<server>_<tool>`, and brings them once it has connected,
 * which can be after this bridge.
 */
function doubledTools(pi: ExtensionAPI, palace: Palace): string | undefined {
  const doubled = [...ownersOf(pi)].filter(([name]) => palace.names.some((tool) => name.endsWith(`_${tool}`)));
  if (doubled.length === 0) return undefined;
  const [name, owner] = doubled[0];
  return `mempalace bridge: ${doubled.length} palace tools come from ${owner} as well, as ${name}; keep one of the two`;
}

function registerTool(pi: ExtensionAPI, palace: Palace, tool: McpTool): void {
  pi.registerTool({
    name: tool.name,
    label: tool.name,
    description: tool.description ?? tool.name,
    // JSON Schema is what pi sends to the model: the real one gives it the parameter names.
    parameters: Type.Unsafe(palace.schemaOf(tool)),
    async execute(_toolCallId, params, signal) {
      const result = await palace.callTool(tool.name, isObject(params) ? params : {}, { signal });
      if (result.isError) throw new Error(textOf(result) || `${tool.name} failed`);
      return { content: result.content.map(toPiContent), details: {} };
    },
  });
}

// ---------------------------------------------------------------------------------------------
// Wake-up: what the agent should know before its first turn
// ---------------------------------------------------------------------------------------------

const TALKED = new Set(["user", "assistant"]);

/** Whether this session has no conversation yet. A resumed or forked one carries its context. */
function isFresh(reason: string | undefined, ctx: ExtensionContext): boolean {
  if (reason === "resume" || reason === "fork") return false;
  return !ctx.sessionManager.getEntries().some((entry) => entry.type === "message" && TALKED.has(entry.message.role));
}

async function composeWakeup(
  palace: Palace,
  agentName: string,
  mail: Promise<string | undefined> | undefined,
): Promise<string | undefined> {
  const sections = await Promise.all([
    wakeupSection(palace, "mempalace_status", {}),
    wakeupSection(palace, "mempalace_diary_read", { agent_name: agentName }),
    mail,
  ]);
  if (sections.every((section) => section === undefined)) return undefined;
  const intro =
    `You have a long-term memory, the MemPalace at ${palace.endpoint}; its mempalace_* tools reach it. ` +
    `Your name in it is "${agentName}". What follows is its state now. Search it before you answer ` +
    "about people, projects or past decisions.";
  return [intro, ...sections.filter((section) => section !== undefined)].join("\n\n");
}

async function wakeupSection(palace: Palace, tool: string, args: Json): Promise<string | undefined> {
  try {
    const result = await palace.callTool(tool, args);
    return `## ${tool}${result.isError ? " (failed)" : ""}\n${textOf(result)}`;
  } catch (error) {
    say(`mempalace bridge: no ${tool} in the wake-up: ${reasonOf(error)}`);
    return undefined;
  }
}

// ---------------------------------------------------------------------------------------------
// Feeding: stage in a subprocess, mine through the client that already holds the palace
// ---------------------------------------------------------------------------------------------

class Feeder {
  private running: Promise<void> | undefined;
  private lastStart = Number.NEGATIVE_INFINITY;
  private turns = 0;
  private turnsStarted = -1;
  private turnsFed = -1;
  private complained = false;

  constructor(
    private readonly settings: FeedSettings,
    private readonly palace: Palace,
    private readonly debug: boolean,
  ) {}

  /** A turn ended: feed when the last feed is long enough ago. Never delays the session. */
  settled(): void {
    this.turns += 1;
    if (!this.usable || this.running) return;
    if (performance.now() - this.lastStart < this.settings.debounceMs) return;
    void this.feed("agent_settled");
  }

  /** The session ends: join a feed under way, and feed what it could not have seen. */
  async finish(reason: string): Promise<void> {
    if (!this.usable) return;
    if (this.running) {
      const turnsJoined = this.turnsStarted;
      await this.running;
      if (turnsJoined === this.turns) return;
    }
    if (this.turnsFed !== this.turns) await this.feed(reason);
  }

  private get usable(): boolean {
    return this.settings.enabled && this.palace.open && this.palace.has("mempalace_mine");
  }

  private feed(reason: string): Promise<void> {
    this.lastStart = performance.now();
    const turns = (this.turnsStarted = this.turns);
    this.running = this.stageAndMine(reason)
      .then(() => {
        this.turnsFed = turns;
      })
      .catch((error: unknown) => this.complain(error))
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  private async stageAndMine(reason: string): Promise<void> {
    const source = await this.prepare(reason);
    if (source === undefined) return;
    const result = await this.palace.callTool(
      "mempalace_mine",
      { source, mode: "convos", wing: this.settings.wing },
      { timeoutMs: this.settings.mineTimeoutMs, killOnStall: false },
    );
    const text = textOf(result);
    if (this.debug) say(`mempalace feed (${reason}): ${oneLine(text, 2_000)}`);
    const failure = result.isError ? text : reportedFailure(text);
    if (failure !== undefined) throw new Error(`mempalace_mine: ${failure}`);
  }

  /** Run the exporter; resolves to what it staged, or undefined when there is nothing to mine. */
  private prepare(reason: string): Promise<string | undefined> {
    const { bin, wing, prepareTimeoutMs } = this.settings;
    const child = spawn(bin, ["--prepare", "--reason", reason, "--wing", wing], { stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let err = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (out = (out + text).slice(-65_536)));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      err = (err + text).slice(-2_000);
      if (this.debug) process.stderr.write(text);
    });
    return new Promise((resolve, reject) => {
      const stall = (): void => {
        void endChild(child);
        reject(new Error(`${bin} --prepare took more than ${prepareTimeoutMs} ms`));
      };
      const timer = prepareTimeoutMs > 0 ? setTimeout(stall, prepareTimeoutMs) : undefined;
      child.once("error", (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        reject(new Error(error.code === "ENOENT" ? `${bin} is not on the PATH` : error.message));
      });
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        if (code === 0) return resolve(/^MINE_SOURCE=(.+)$/m.exec(out)?.[1]);
        reject(new Error(`${bin} --prepare ended with ${signal ?? code}: ${oneLine(err.split("\n").slice(-3).join(" "))}`));
      });
    });
  }

  /** Once a session: a broken feed must be seen, but not every ten minutes. */
  private complain(error: unknown): void {
    if (this.complained && !this.debug) return;
    this.complained = true;
    say(`mempalace feed: ${reasonOf(error)}`);
  }
}

/** Tools answer `{"success": false, "error": …}` in a result that is no MCP error. */
function reportedFailure(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isObject(parsed) || (parsed.success !== false && typeof parsed.error !== "string")) return undefined;
    return String(parsed.error ?? "reported no success");
  } catch {
    return undefined;
  }
}

// ---------------------------------------------------------------------------------------------
// Mailbox: what other agents wait for from this machine, read from the palace's coordination log
// ---------------------------------------------------------------------------------------------

/** One event of the log, as far as the mailbox needs it. */
interface LogEvent {
  id: string;
  type: string;
  from: string;
  to: string;
  status: string;
  correlation: string;
  ackOf: string;
  /** Hybrid logical clock, of fixed width: comparing the text compares the causal order. */
  hlc: string;
  /** Arrival number in the palace that was asked; another replica numbers the same event otherwise. */
  seq: number;
  createdAt: string;
  place: string;
  body: string;
}

/** An answer with one of these closes an ask; `claimed` and `ready` do not. */
const TERMINAL = new Set(["applied", "superseded", "failed", "blocked"]);
const MAIL_TYPE = "mempalace-mailbox";
/** Events asked for in one call: whole bodies are up to 256 KiB each, excerpts are small. */
const PAGE_WHOLE = 200;
const PAGE_EXCERPTS = 500;
const MAX_EVENT_PAGES = 40;
const MAX_DELIVERED = 20;
const MAX_BODY = 4_000;

function parseEvent(value: unknown): LogEvent | undefined {
  if (!isObject(value) || typeof value.id !== "string" || value.id === "") return undefined;
  const text = (field: unknown): string => (typeof field === "string" ? field : "");
  const metadata = isObject(value.metadata) ? value.metadata : {};
  return {
    id: value.id,
    type: text(value.type),
    from: text(value.from_agent),
    to: text(value.to_agent),
    status: text(value.status),
    correlation: text(value.correlation_id),
    ackOf: text(metadata.ack_of),
    hlc: text(value.hlc),
    seq: typeof value.seq === "number" ? value.seq : Number.NaN,
    createdAt: text(value.created_at),
    place: [value.stream, value.room].map(text).filter(Boolean).join(", "),
    body: text(value.body),
  };
}

/** Never by created_at: it has whole seconds, and a tie would hide an ask that has no answer. */
function isLater(event: LogEvent, than: LogEvent): boolean {
  return event.hlc !== "" && than.hlc !== "" ? event.hlc > than.hlc : event.seq > than.seq;
}

/** Whether a closing event closes this ask: one closes no later ask of the same correlation. */
function closes(closing: LogEvent, ask: LogEvent): boolean {
  const joins = closing.ackOf === ask.id || (closing.correlation !== "" && closing.correlation === ask.correlation);
  return joins && isLater(closing, ask);
}

/** The events of one query, kept over a session so that each look reads only what is new. */
class EventQuery {
  private events = new Map<string, LogEvent>();
  private cursor: string | undefined;

  constructor(
    private readonly palace: Palace,
    private readonly filter: () => Json,
    private readonly limit: number,
    private readonly keep: (event: LogEvent) => boolean,
  ) {}

  async read(signal: AbortSignal): Promise<LogEvent[]> {
    for (let page = 0; page < MAX_EVENT_PAGES; page += 1) {
      const given = await this.page(signal);
      const events = given.map(parseEvent).filter((event) => event !== undefined);
      for (const event of events) if (this.keep(event)) this.events.set(event.id, event);
      this.cursor = events.at(-1)?.id ?? this.cursor;
      if (given.length < this.limit || events.length === 0) break;
    }
    return [...this.events.values()];
  }

  private async page(signal: AbortSignal): Promise<unknown[]> {
    // Oldest first is the only order that every server has, and the one that a cursor follows.
    const order = this.palace.takes("mempalace_event_list", "order") ? { order: "asc" } : {};
    const since = this.cursor === undefined ? {} : { since_event_id: this.cursor };
    const args = { ...this.filter(), ...order, ...since, limit: this.limit };
    const text = textOf(await this.palace.callTool("mempalace_event_list", args, { signal }));
    const told: unknown = JSON.parse(text);
    if (isObject(told) && Array.isArray(told.events)) return told.events;
    this.cursor = undefined; // The palace no longer knows the cursor: begin again next time.
    this.events.clear();
    throw new Error(reportedFailure(text) ?? "the palace sent no event list");
  }
}

/** What is owed is derived: an ask keeps the status `open` for ever, answered or not. */
class Mailbox {
  private readonly stopping = new AbortController();
  private readonly seen = new Set<string>();
  private readonly asks: EventQuery;
  private readonly closings: EventQuery;
  private lastLook = Number.NEGATIVE_INFINITY;
  private looking = false;
  private held: LogEvent[] = [];

  private constructor(
    private readonly pi: ExtensionAPI,
    private readonly palace: Palace,
    private readonly settings: Settings,
    private readonly me: string,
  ) {
    const asked = (event: LogEvent): boolean => event.to === me && event.status === "open";
    const closing = (event: LogEvent): boolean => event.from === me && TERMINAL.has(event.status);
    this.asks = new EventQuery(palace, () => ({ to_agent: me, status: "open" }), PAGE_WHOLE, asked);
    this.closings = new EventQuery(palace, () => this.ownFilter(), PAGE_EXCERPTS, closing);
  }

  /** A machine that does not stamp has no address, and a solitary palace has no senders. */
  static from(pi: ExtensionAPI, palace: Palace, settings: Settings): Mailbox | undefined {
    if (!settings.mailbox.enabled || !settings.device || !settings.remoteUrl) return undefined;
    return new Mailbox(pi, palace, settings, addressOf(settings.device));
  }

  /** A session that was resumed or reloaded holds what it was given before. */
  remember(ctx: ExtensionContext): void {
    for (const entry of ctx.sessionManager.getEntries()) {
      const details: unknown = entry.type === "custom_message" ? entry.details : undefined;
      const events = isObject(details) && Array.isArray(details.events) ? details.events : [];
      for (const id of events) if (typeof id === "string") this.seen.add(id);
    }
  }

  /** The mail that is due when a session begins, for its wake-up. */
  async forWakeup(): Promise<{ text: string; ids: string[] } | undefined> {
    const due = await this.look();
    if (due.length === 0) return undefined;
    const { text, ids } = this.compose(due);
    return { text, ids };
  }

  /** A turn ended: look when the last look is long enough ago. Never delays the session. */
  settled(ctx: ExtensionContext): void {
    if (this.held.length > 0) return this.deliver(this.held, ctx);
    if (this.looking || performance.now() - this.lastLook < this.settings.mailbox.pollMs) return;
    void this.look().then((due) => this.deliver(due, ctx));
  }

  stop(): void {
    this.stopping.abort();
  }

  /** What is owed and not yet delivered. Silent when the palace cannot say. */
  private async look(): Promise<LogEvent[]> {
    if (!this.palace.open || !this.palace.has("mempalace_event_list")) return [];
    this.lastLook = performance.now();
    this.looking = true;
    try {
      const asks = await this.asks.read(this.stopping.signal);
      const closings = asks.length > 0 ? await this.closings.read(this.stopping.signal) : [];
      const owed = asks.filter((ask) => !closings.some((closing) => closes(closing, ask)));
      return owed.filter((ask) => !this.seen.has(ask.id)).slice(0, MAX_DELIVERED);
    } catch (error) {
      if (this.settings.debug) say(`mempalace mailbox: ${reasonOf(error)}`);
      return [];
    } finally {
      this.looking = false;
    }
  }

  /** From mempalace 3.11 on `from_agent` names the caller and filters nothing: `writer` does. */
  private ownFilter(): Json {
    const declared = (argument: string): boolean => this.palace.takes("mempalace_event_list", argument);
    return {
      from_agent: this.me,
      ...(declared("writer") ? { writer: this.me } : {}),
      ...(declared("preview") ? { preview: true } : {}),
    };
  }

  /** Nothing wakes the model: the message waits in the session for the turn that comes next. */
  private deliver(due: LogEvent[], ctx: ExtensionContext): void {
    this.held = due;
    if (due.length === 0) return;
    try {
      if (!ctx.isIdle()) return; // A turn began meanwhile; steering into it would cost a model call.
      const { heading, text, ids } = this.compose(due);
      const content = `${text}\n\n${DELIVERY_NOTE}`;
      const message = { customType: MAIL_TYPE, content, display: true, details: { events: ids } };
      this.pi.sendMessage(message, { deliverAs: "steer" });
      this.held = [];
      announce(this.settings.mailbox.notify, heading, due, ctx);
    } catch (error) {
      if (this.settings.debug) say(`mempalace mailbox: ${reasonOf(error)}`);
    }
  }

  private compose(due: LogEvent[]): { heading: string; text: string; ids: string[] } {
    const ids = due.map((event) => event.id);
    for (const id of ids) this.seen.add(id);
    const heading = `${due.length} ${due.length === 1 ? "event waits" : "events wait"} for ${oneLine(this.me)}`;
    return { heading, text: [`## Mailbox: ${heading}`, CLOSING_NOTE, ...due.map(letter)].join("\n\n"), ids };
  }
}

const CLOSING_NOTE =
  "Other agents wrote these to the palace's coordination log and wait for an answer. An event counts as answered " +
  "when mempalace_event_ack names its event_id with status applied, superseded, failed or blocked; claimed and " +
  "ready leave it open.";
const DELIVERY_NOTE =
  "This is a queued message: nothing woke the agent for it, and nothing will. Any message you send starts the " +
  "turn that handles it.";

/** One event as the agent reads it. Its lines are quoted, so that none passes for the bridge's own. */
function letter(event: LogEvent): string {
  const facts = [
    `from ${event.from}`,
    event.createdAt,
    event.place && `in ${event.place}`,
    event.correlation && `correlation ${event.correlation}`,
  ];
  const head = [`### ${event.type} ${event.id}`, facts.filter(Boolean).join("; ")].map((line) => oneLine(line, 800));
  const body = clipped(printable(event.body), MAX_BODY).split("\n").map((line) => `> ${line}`);
  return [...head, ...(event.body ? body : [])].join("\n");
}

function announce(mode: MailboxSettings["notify"], heading: string, due: LogEvent[], ctx: ExtensionContext): void {
  if (mode === "off") return;
  const what = due.map((event) => `${event.type} from ${event.from}`).join(", ");
  ctx.ui.notify(`Mailbox: ${heading} (${oneLine(what, 120)}). Any message starts the turn that handles it.`, "info");
  // Only a terminal that shows pi's screen: in every other mode stdout carries the answer.
  if (mode === "desktop" && ctx.hasUI && (ctx.mode ?? "tui") === "tui" && process.stdout.isTTY) {
    process.stdout.write(terminalNotice("MemPalace mailbox", `${heading}: ${what}`, process.env));
  }
}

/** An operating system command for the emulator, whole in one write; it moves no cursor. */
function terminalNotice(title: string, body: string, env: NodeJS.ProcessEnv): string {
  const [head, text] = [title, body].map((field) => oneLine(field.replaceAll(";", ""), 200));
  const kitty = env.KITTY_WINDOW_ID !== undefined || /kitty/.test(env.TERM ?? "");
  if (!kitty) return `\u001b]777;notify;${head};${text}\u0007`;
  const id = "i=mempalace-mailbox";
  return `\u001b]99;${id}:d=0;${head}\u001b\\\u001b]99;${id}:d=1:p=body;${text}\u001b\\`;
}

// ---------------------------------------------------------------------------------------------
// The diary, by hand: only the model can write it, and at shutdown there is no turn left for it
// ---------------------------------------------------------------------------------------------

function diaryPrompt(agentName: string, topic: string): string {
  const about = topic ? ` Use the topic "${topic}".` : "";
  return (
    `Write a diary entry about this session with mempalace_diary_write, agent_name "${agentName}".${about} ` +
    "Compose it in AAAK (see mempalace_get_aaak_spec when unsure): what was asked, what was done and decided, " +
    "what is left open, and what the next session has to know. Then answer with one line that says it is filed."
  );
}

// ---------------------------------------------------------------------------------------------
// The extension
// ---------------------------------------------------------------------------------------------

export default function mempalace(pi: ExtensionAPI): void {
  const settings = readSettings(process.env);
  const palace = new Palace(settings);
  const feeder = new Feeder(settings.feed, palace, settings.debug);
  const mailbox = Mailbox.from(pi, palace, settings);
  let wakeupDue = false;
  let doublingTold = false;

  /** Once a session; on a screen that pi draws, a line on stderr would be scribble. */
  const tellDoubling = (ctx: ExtensionContext): void => {
    const doubling = doublingTold || !palace.open ? undefined : doubledTools(pi, palace);
    if (doubling === undefined) return;
    doublingTold = true;
    if (ctx.hasUI) ctx.ui.notify(doubling, "warning");
    else say(doubling);
  };

  pi.on("session_start", async (event, ctx) => {
    try {
      registerTools(pi, palace, await palace.connect());
      wakeupDue = isFresh(event.reason, ctx);
      mailbox?.remember(ctx);
    } catch (error) {
      await palace.close();
      say(`mempalace-mcp unavailable after retries; continuing without palace tools: ${reasonOf(error)}`);
    }
  });

  pi.on("before_agent_start", async () => {
    if (!wakeupDue || !palace.open) return undefined;
    wakeupDue = false;
    const mail = mailbox?.forWakeup();
    const content = await composeWakeup(palace, settings.agentName, mail?.then((found) => found?.text));
    if (!content) return undefined;
    const details = { events: (await mail)?.ids ?? [] };
    return { message: { customType: "mempalace-wakeup", content, display: true, details } };
  });

  // pi's own MCP client brings its tools in before_agent_start, after the bridge's handler.
  pi.on("agent_start", (_event, ctx) => tellDoubling(ctx));

  pi.on("agent_settled", (_event, ctx) => {
    feeder.settled();
    mailbox?.settled(ctx);
  });

  pi.on("session_shutdown", async (event) => {
    mailbox?.stop();
    if (event.reason !== "reload") await feeder.finish("session_shutdown");
    await palace.close();
  });

  pi.registerCommand("mempalace-diary", {
    description: "File a diary entry about this session in the palace: /mempalace-diary [topic]",
    handler: async (args, ctx) => {
      if (!palace.open) {
        ctx.ui.notify("The palace is not connected, so there is no diary to write in.", "warning");
        return;
      }
      const busy = ctx.isIdle() ? undefined : ({ deliverAs: "followUp" } as const);
      pi.sendUserMessage(diaryPrompt(settings.agentName, args.trim()), busy);
    },
  });
}
