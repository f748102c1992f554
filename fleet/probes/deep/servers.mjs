// The loopback servers of a deep check: one port, below it a palace and a model for each run.

import { createServer } from "node:http";
import { Model } from "./model.mjs";
import { Palace } from "./palace.mjs";

const MAX_BODY = 16 * 1024 * 1024;
const LOOPBACK = "127.0.0.1";

/** One run's side of the servers: how its palace behaves, and what was asked. */
export class Desk {
  /**
   * @param {{name: string, palace: string, token: string, manner: string}} run its manner is
   *   "plain", "refusing" (401) or "silent" (never answers)
   * @param {object[]} events the palace's coordination events
   * @param {(body: object, turn: number) => string | object[]} script what the model answers
   */
  constructor(run, events, script) {
    this.run = run;
    this.calls = [];
    this.methods = [];
    this.palace = new Palace(run.palace, events, (call) => this.calls.push(call));
    this.model = new Model(script);
  }
}

export class Servers {
  #desks = new Map();
  #held = new Set();
  #server = createServer((request, response) => void this.#serve(request, response));

  async open() {
    await new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(0, LOOPBACK, resolve);
    });
    this.origin = `http://${LOOPBACK}:${this.#server.address().port}`;
  }

  /** Give a route its desk; returns the addresses of its palace and its model. */
  add(desk, route) {
    this.#desks.set(route, desk);
    const below = `${this.origin}/${route}`;
    return { palace: `${below}/mcp`, model: `${below}/v1` };
  }

  close() {
    for (const response of this.#held) response.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request, response) {
    try {
      const [, route, part] = new URL(request.url, this.origin).pathname.split("/");
      const desk = this.#desks.get(route);
      if (!desk) return send(response, 404, {});
      const body = await read(request);
      if (part === "v1") return desk.model.serve(body, response);
      return this.#palace(desk, request, body, response);
    } catch (error) {
      send(response, 400, { error: String(error?.message) });
    }
  }

  #palace(desk, request, body, response) {
    const { manner, token } = desk.run;
    const message = request.method === "POST" ? JSON.parse(body) : undefined;
    desk.methods.push(message?.method ?? request.method);
    if (manner === "silent") return void this.#held.add(response);
    if (manner === "refusing" || request.headers.authorization !== `Bearer ${token}`) {
      return send(response, 401, { error: "unauthorized" });
    }
    if (!message) return send(response, request.method === "DELETE" ? 200 : 405, {});
    const reply = desk.palace.answer(message);
    if (reply === undefined) return send(response, 202);
    const session = message.method === "initialize" ? { "mcp-session-id": `deep-${desk.run.name}` } : {};
    send(response, 200, reply, session);
  }
}

function send(response, status, value, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(value === undefined ? undefined : JSON.stringify(value));
}

async function read(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error("too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
