// The fake model: an OpenAI-compatible endpoint that answers from a script and remembers requests.

const BASE = { id: "deep", created: 1, model: "fake", object: "chat.completion.chunk" };
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

export class Model {
  /** @param {(body: object, turn: number) => string | {name: string, arguments: object}[]} script */
  constructor(script) {
    this.script = script;
    this.bodies = [];
  }

  serve(text, response) {
    const body = JSON.parse(text);
    const answer = this.script(body, this.bodies.length);
    this.bodies.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const choice = (delta, reason) => ({ ...BASE, choices: [{ index: 0, delta, finish_reason: reason }] });
    const called = typeof answer !== "string" && answer.length > 0;
    const chunks = [
      choice(called ? callsOf(answer) : { role: "assistant", content: String(answer) }, null),
      choice({}, called ? "tool_calls" : "stop"),
      { ...BASE, choices: [], usage: USAGE },
    ];
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end("data: [DONE]\n\n");
  }
}

function callsOf(calls) {
  const tool_calls = calls.map((call, index) => ({
    index,
    id: `call_${Date.now()}_${index}`,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return { role: "assistant", content: null, tool_calls };
}

/** The tools that a request declares: their parameter names by name. */
export function declaredTools(body) {
  const found = new Map();
  for (const tool of Array.isArray(body?.tools) ? body.tools : []) {
    const { name, parameters } = tool.function ?? tool;
    if (typeof name === "string") found.set(name, Object.keys(parameters?.properties ?? {}));
  }
  return found;
}

/** Every text of a request that is not the system's: one entry a message. */
export function saidTo(body) {
  const told = [];
  for (const message of Array.isArray(body?.messages) ? body.messages : []) {
    if (message.role === "system" || message.role === "developer") continue;
    const blocks = Array.isArray(message.content) ? message.content : [{ text: message.content }];
    const text = blocks.map((block) => block?.text ?? "").join("\n");
    told.push({ role: String(message.role), text });
  }
  return told;
}
