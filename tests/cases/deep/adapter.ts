// Stands for an adapter with direct tools on a server named mempalace.
export default (pi: any) =>
  pi.registerTool({
    name: "mempalace_status",
    label: "mempalace_status",
    description: "of the adapter",
    parameters: { type: "object", properties: {} },
    execute: async () => ({ content: [], details: {} }),
  });
