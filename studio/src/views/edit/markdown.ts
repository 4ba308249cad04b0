// Renders the subset of Markdown that code pages use: headings, paragraphs, fenced code, inline
// code. All content is rendered as text, never as markup.

export interface Block {
  kind: 'heading' | 'paragraph' | 'code';
  text: string;
}

export function blocks(markdown: string): Block[] {
  const result: Block[] = [];
  let fence: string[] | null = null;
  let paragraph: string[] = [];
  const end = (): void => {
    if (paragraph.length > 0) result.push({ kind: 'paragraph', text: paragraph.join(' ') });
    paragraph = [];
  };
  for (const line of markdown.split('\n')) {
    if (line.startsWith('```')) {
      if (fence) result.push({ kind: 'code', text: fence.join('\n') });
      else end();
      fence = fence ? null : [];
    } else if (fence) fence.push(line);
    else if (/^#+ /.test(line)) {
      end();
      result.push({ kind: 'heading', text: line.replace(/^#+ /, '') });
    } else if (line.trim() === '') end();
    else paragraph.push(line.trim());
  }
  end();
  if (fence) result.push({ kind: 'code', text: fence.join('\n') });
  return result;
}

export interface Piece {
  code: boolean;
  text: string;
}

/** Splits a paragraph at its backticks; of a link, only the text is kept. */
export function pieces(text: string): Piece[] {
  const plain = text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('**', '');
  return plain
    .split('`')
    .map((part, index) => ({ code: index % 2 === 1, text: part }))
    .filter((piece) => piece.text !== '');
}
