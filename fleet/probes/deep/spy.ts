// Loaded beside the deployed extensions: notes how far pi came, and who owns which tool.

import fs from "node:fs";

export default function spy(pi: any): void {
  const out = process.env.FLEET_DEEP_SPY ?? "/dev/null";
  const note = (value: object): void => fs.appendFileSync(out, `${JSON.stringify(value)}\n`);
  note({ at: "loading" });
  for (const at of ["session_start", "before_agent_start", "agent_settled", "session_shutdown"]) {
    pi.on(at, () => {
      const tools = at === "before_agent_start" ? pi.getAllTools() : undefined;
      const owners = tools?.map((tool: any) => [tool.name, tool.sourceInfo?.path ?? ""]);
      note(owners ? { at, owners } : { at });
    });
  }
}
