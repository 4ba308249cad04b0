// Parses server-sent events of a response body. The browser's `EventSource` cannot send headers,
// and so cannot send the token.

/** Yields the data of each event of a stream, in order. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += decoder.decode(value, { stream: !done }).replaceAll('\r', '');
      const whole = rest.split('\n\n');
      rest = done ? '' : (whole.pop() ?? '');
      for (const event of whole) {
        const data = event
          .split('\n')
          .filter((line) => line.startsWith('data:'))
          .map((line) => line.slice(5).replace(/^ /, ''));
        if (data.length > 0) yield data.join('\n');
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
