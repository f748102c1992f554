// A bridge of early days, for the example fleet: it can reach a shared palace and has never
// heard of feeding transcripts. MEMPALACE_FEED in a comment is no code, and does not count.

type Pi = { registerTool(tool: { name: string; run(): Promise<string> }): void };

const remote = process.env.MEMPALACE_REMOTE_URL;

class RemoteMcpClient {
  constructor(private readonly url: string) {}

  async status(): Promise<string> {
    const answer = await fetch(this.url, { method: "POST" });
    return answer.text();
  }
}

export default function mempalace(pi: Pi): void {
  if (!remote) return;
  const client = new RemoteMcpClient(remote);
  pi.registerTool({ name: "mempalace_status", run: () => client.status() });
}
