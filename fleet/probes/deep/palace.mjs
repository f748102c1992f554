// The scratch palace: answers MCP as a real one does, keeps nothing, and remembers what it was asked.
//
// Arguments are checked as strictly as the real server checks them, so that a bridge which calls a
// tool wrongly is told so here too.

import { randomBytes } from "node:crypto";

const VERSION = "3.11.0";
const PROTOCOL = "2025-06-18";
const EVENT_FIELDS = ["stream", "room", "topic", "type", "correlation_id", "status"];

// One line a tool: its arguments, "!" marks those that are required, ":" a type that is not string.
const TOOLS = `
status
list_wings
list_rooms wing
get_taxonomy
get_aaak_spec
kg_query entity! as_of direction
kg_add subject! predicate! object! valid_from valid_to source_closet source_file source_drawer_id
kg_invalidate subject! predicate! object! ended
kg_supersede subject! predicate! old_object! new_object! at
kg_timeline entity limit:integer offset:integer
kg_stats
traverse start_room! max_hops:integer
find_tunnels wing_a wing_b
graph_stats
mesh_peers
create_tunnel source_wing! source_room! target_wing! target_room! label source_drawer_id target_drawer_id
list_tunnels wing
delete_tunnel tunnel_id!
list_hallways wing limit:integer offset:integer
delete_hallway hallway_id!
follow_tunnels wing! room!
search query! limit:integer wing room source_file since before max_distance:number context
check_duplicate content! threshold:number
add_drawer wing! room! content! source_file added_by
checkpoint items!:array diary:object dedup_threshold:number added_by
delete_drawer drawer_id!
delete_drawers drawer_ids!:array
mine source! mode wing agent limit:integer dry_run:boolean extract include_ignored:array
delete_by_source source_file! dry_run:boolean
sync project_dir wing apply:boolean
get_drawer drawer_id!
get_drawers drawer_ids!:array
list_drawers wing room since before limit:integer offset:integer
update_drawer drawer_id! content wing room
diary_write agent_name! entry topic wing content
diary_read agent_name! last_n:integer wing
hook_settings silent_save:boolean desktop_toast:boolean
memories_filed_away
reconnect
event_append type! stream! room! topic from_agent! to_agent correlation_id branch base_commit status body metadata:object artifact_ids:array
task_create project! from_agent! to_agent! goal! branch! base_commit! done!
event_list stream room topic type to_agent from_agent writer correlation_id status since_event_id before_event_id since_created_at limit:integer order preview:boolean
event_wait stream room topic type to_agent from_agent writer correlation_id status since_event_id since_created_at timeout_ms:integer limit:integer
event_ack event_id! from_agent! status body topic
artifact_put kind! content! created_by! metadata:object
artifact_get artifact_id!
patch_submit content! from_agent! stream! room topic to_agent correlation_id branch base_commit body metadata:object
`;

function described(line) {
  const [name, ...fields] = line.split(" ");
  const properties = {};
  const required = [];
  for (const field of fields) {
    const [, argument, must, type] = /^(\w+)(!?)(?::(\w+))?$/.exec(field);
    properties[argument] = { type: type ?? "string", ...(type === "array" ? { items: {} } : {}) };
    if (must) required.push(argument);
  }
  const inputSchema = { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
  return { name: `mempalace_${name}`, description: `${name.replaceAll("_", " ")} of the palace`, inputSchema };
}

export const PALACE_TOOLS = TOOLS.trim().split("\n").map(described);
const BY_NAME = new Map(PALACE_TOOLS.map((tool) => [tool.name, tool]));

/** What the server says of a call that does not fit its schema; undefined when it fits. */
function misfit(tool, args) {
  const { properties, required = [] } = tool.inputSchema;
  const unknown = Object.keys(args).find((name) => !(name in properties));
  if (unknown !== undefined) return `Unknown parameter '${unknown}' for tool ${tool.name}`;
  const missing = required.find((name) => args[name] === undefined);
  return missing === undefined ? undefined : `Missing required parameter '${missing}' for tool ${tool.name}`;
}

export class Palace {
  #replica = `rep_${randomBytes(16).toString("hex")}`;

  /**
   * @param {string} path the folder it says it keeps its palace in; nothing is there
   * @param {object[]} events coordination events, shared by the runs of one palace
   * @param {(call: object) => void} heard told of every tool call
   */
  constructor(path, events, heard) {
    this.path = path;
    this.events = events;
    this.heard = heard;
  }

  /** Answer one JSON-RPC message; undefined for a notification. */
  answer(message) {
    if (message?.id === undefined) return undefined;
    const reply = { jsonrpc: "2.0", id: message.id };
    try {
      return { ...reply, result: this.#result(message) };
    } catch (error) {
      return { ...reply, error: { code: error.code ?? -32603, message: error.message } };
    }
  }

  /** Add an event as the log does; returns it. */
  append(event) {
    const seq = this.events.length + 1;
    const full = {
      id: `evt_${Date.now()}_${randomBytes(6).toString("hex")}`,
      seq,
      origin_replica: this.#replica,
      origin_seq: seq,
      hlc: `${Date.now()}-${String(seq).padStart(6, "0")}-${this.#replica}`,
      type: "note",
      stream: "fleet/deep",
      room: "check",
      topic: null,
      from_agent: null,
      to_agent: null,
      correlation_id: null,
      branch: null,
      base_commit: null,
      status: null,
      artifact_ids: [],
      body: null,
      created_at: new Date().toISOString().replace(/\.\d+Z$/, "Z"),
      metadata: {},
      ...event,
    };
    this.events.push(full);
    return full;
  }

  #result({ method, params = {} }) {
    if (method === "initialize") {
      const serverInfo = { name: "mempalace", version: VERSION };
      return { protocolVersion: PROTOCOL, capabilities: { tools: {} }, serverInfo };
    }
    if (method === "ping") return {};
    if (method === "tools/list") return { tools: PALACE_TOOLS };
    if (method === "tools/call") return this.#call(params.name, params.arguments ?? {});
    throw Object.assign(new Error(`Method not found: ${method}`), { code: -32601 });
  }

  #call(name, args) {
    const tool = BY_NAME.get(name);
    const wrong = tool ? misfit(tool, args) : `Unknown tool: ${name}`;
    this.heard({ name: String(name), arguments: args, refused: wrong ?? null });
    if (wrong !== undefined) throw Object.assign(new Error(wrong), { code: tool ? -32602 : -32601 });
    const text = JSON.stringify(this.#done(name.replace("mempalace_", ""), args), null, 2);
    return { content: [{ type: "text", text }] };
  }

  #done(name, args) {
    switch (name) {
      case "status":
        return {
          total_drawers: 1,
          wings: { fleet_deep: 1 },
          rooms: { check: 1 },
          sqlite_integrity: { checked: true, ok: true, palace: this.path, error_count: 0, errors: [] },
          library_versions: { stale: false, serving: { mempalace: VERSION } },
        };
      case "diary_read":
        return { agent: args.agent_name, entries: [], total: 0, showing: 0 };
      case "mine":
        return { success: true, output: "Files processed: 1", source: args.source };
      case "search":
        return { query: args.query, results: [] };
      case "event_append":
        return { success: true, event: this.append(args) };
      case "event_ack":
        return this.#acknowledge(args);
      case "event_list":
      case "event_wait":
        return this.#listed(args);
      default:
        return { success: true };
    }
  }

  #acknowledge({ event_id: id, from_agent, status = null, body = null }) {
    const asked = this.events.find((event) => event.id === id);
    if (!asked) return { success: false, error: `no such event: ${id}` };
    const { stream, room, correlation_id } = asked;
    const metadata = { ack_of: id };
    const reply = { type: "event.ack", stream, room, correlation_id, from_agent, status, body, metadata };
    return { success: true, event: this.append({ ...reply, to_agent: asked.from_agent }) };
  }

  #listed(args) {
    const fits = (event) =>
      EVENT_FIELDS.every((field) => args[field] === undefined || event[field] === args[field]) &&
      (args.to_agent === undefined || [args.to_agent, "*"].includes(event.to_agent)) &&
      (args.writer === undefined || event.from_agent === args.writer);
    const found = this.events.filter(fits);
    if (args.order !== "asc") found.reverse();
    const events = found.slice(0, args.limit ?? 50);
    return { events, count: events.length };
  }
}
