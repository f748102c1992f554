// An extension that waits, while pi loads it, for what never comes.
export default async () => {
  setInterval(() => undefined, 1000);
  await new Promise(() => undefined);
};
