// Load the bridge with pi's own loader and play steps against it, without a model and without pi.
//   node drive.mjs NODE_MODULES BRIDGE < steps.json > results.json
// A step is {fire, event?, entries?}, {tool, args?, abortAfter?}, {command, args?} or {sleep};
// `background: true` starts it and goes on, {join: true} waits for all that was started so.
// {load: environment} loads the bridge again, as for another pi.
// `context` on a step overrides what pi's context says; {terminal: true} makes stdout one, whose
// output is recorded.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, bridge] = process.argv.slice(2);
const { createJiti } = await import(pathToFileURL(join(modules, "jiti/lib/jiti.mjs")));
const alias = { typebox: join(modules, "typebox/build/index.mjs") };
const { default: factory } = await createJiti(import.meta.url, { alias, moduleCache: false }).import(bridge);

const handlers = new Map();
const tools = new Map();
const commands = new Map();
const messages = [];
const notices = [];
const sent = [];
let terminal = "";

const api = {
  on: (name, handler) => handlers.set(name, handler),
  registerTool: (tool) => tools.set(tool.name, tool),
  registerCommand: (name, command) => commands.set(name, command),
  getAllTools: () => [...tools.values()],
  sendUserMessage: (text) => messages.push(text),
  sendMessage: (message, options) => sent.push({ message, options }),
};

function load(environment) {
  Object.assign(process.env, environment);
  handlers.clear();
  tools.clear();
  factory(api);
}

load({});

const context = ({ entries = [], context: said = {} } = {}) => ({
  sessionManager: { getEntries: () => entries },
  isIdle: () => said.idle ?? true,
  hasUI: said.hasUI ?? true,
  mode: "mode" in said ? said.mode : "tui",
  ui: { notify: (text) => notices.push(text) },
});

const print = process.stdout.write.bind(process.stdout);

function becomeTerminal() {
  process.stdout.isTTY = true;
  process.stdout.write = (text) => ((terminal += text), true);
}

function perform(step) {
  if (step.load) return load(step.load);
  if (step.terminal) return becomeTerminal();
  if (step.sleep !== undefined) return new Promise((resolve) => setTimeout(resolve, step.sleep));
  if (step.fire) return handlers.get(step.fire)({ type: step.fire, ...step.event }, context(step));
  if (step.command) return commands.get(step.command).handler(step.args ?? "", context());
  const signal = step.abortAfter === undefined ? undefined : AbortSignal.timeout(step.abortAfter);
  const tool = tools.get(step.tool);
  if (!tool) throw new Error(`no tool ${step.tool}`);
  return tool.execute("call", step.args ?? {}, signal);
}

async function outcome(step) {
  const begun = performance.now();
  try {
    const value = await perform(step);
    return { value: value ?? null, ms: performance.now() - begun };
  } catch (error) {
    return { error: error.message, ms: performance.now() - begun };
  }
}

const results = [];
const started = [];
for (const step of JSON.parse(readFileSync(0, "utf8"))) {
  if (step.join) await Promise.all(started);
  else if (step.background) started.push(outcome(step).then((result) => results.push(result)));
  else results.push(await outcome(step));
}
const schemas = Object.fromEntries([...tools].map(([name, tool]) => [name, tool.parameters]));
print(JSON.stringify({ results, schemas, messages, notices, sent, terminal }));
