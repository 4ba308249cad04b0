// HTTP requests to the server; no other module knows the paths. Types are generated from the
// server's types (`api/types.ts`).
import type {
  AskNear,
  AskReport,
  AskRows,
  At,
  Check,
  Checked,
  CodePage,
  Completions,
  Decide,
  Decided,
  DecisionTable,
  EditedRow,
  EditRow,
  FileText,
  Formatted,
  Hover,
  KeepMessages,
  KeptMessages,
  MadeTest,
  MakeTest,
  Map as RulesMap,
  Near,
  Overview,
  SourceRange,
  Progress,
  Refusal,
  ReplaySums,
  Report,
  RowMessage,
  Rows,
  RuleSet,
  Save,
  Saved,
  Session,
  Source,
  StartReplay,
  Started,
  UploadRules,
  Version,
} from './api/types';
import { events } from './events';
import { t } from './i18n';
import { language } from './state/prefs';
import { token } from './state/place';
import type { Traffic } from './views/live/traffic';

/** A request that the server refused, or that did not reach the server. */
export class RequestError extends Error {
  constructor(
    readonly kind: string,
    message: string,
  ) {
    super(message);
  }
}

/** True if the error only says that the page itself aborted the request. */
export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

interface Options {
  method?: string;
  body?: unknown;
  file?: File;
  signal?: AbortSignal | undefined;
}

async function send(path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { 'x-rulec-token': token(), 'accept-language': language.value };
  let body: BodyInit | null = options.file ?? null;
  if (options.body !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    // A service shows the page below a path of its own.
    response = await fetch(new URL(`api/${path}`, document.baseURI), {
      method: options.method ?? (body === null ? 'GET' : 'POST'),
      headers,
      body,
      cache: 'no-store',
      signal: options.signal ?? null,
    });
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new RequestError('unreachable', t().unreachable);
  }
  if (response.ok) return response;
  const refusal = (await response.json().catch(() => null)) as Refusal | null;
  throw new RequestError(
    refusal?.kind ?? 'failed',
    refusal?.message ?? `${response.status} ${response.statusText}`,
  );
}

async function ask<T>(path: string, options: Options = {}): Promise<T> {
  const response = await send(path, options);
  return (await response.json()) as T;
}

function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return ask<T>(path, { body, signal });
}

function query(parameters: Record<string, string | number | boolean>): string {
  return new URLSearchParams(
    Object.entries(parameters).map(([key, value]) => [key, String(value)]),
  ).toString();
}

function versioned(version: Version, more: Record<string, string> = {}): string {
  return query({ rules: version.rules, draft: version.draft, ...more });
}

export const api = {
  session: () => ask<Session>('session'),
  overview: (version: Version, signal?: AbortSignal) =>
    ask<Overview>(`overview?${versioned(version)}`, { signal }),
  uploadRules: (body: UploadRules) => post<RuleSet>('rules', body),
  messages: (rules: number) => ask<KeptMessages>(`messages?${query({ rules })}`),
  keepMessages: (body: KeepMessages) => ask<KeptMessages>('messages', { method: 'PUT', body }),
  decide: (body: Decide, signal?: AbortSignal) => post<Decided>('decide', body, signal),
  near: (body: AskNear, signal?: AbortSignal) => post<Near[]>('near', body, signal),
  makeTest: (body: MakeTest) => post<MadeTest>('test', body),
  upload: (file: File) => ask<Source>(`uploads?${query({ name: file.name })}`, { method: 'POST', file }),
  startReplay: (body: StartReplay) => post<Started>('replays', body),
  sums: (id: number, signal?: AbortSignal) => ask<ReplaySums>(`replays/${id}`, { signal }),
  cancelReplay: (id: number) => ask<ReplaySums>(`replays/${id}`, { method: 'DELETE' }),
  rows: (id: number, body: AskRows, signal?: AbortSignal) => post<Rows>(`replays/${id}/rows`, body, signal),
  row: (id: number, line: number) => ask<RowMessage>(`replays/${id}/rows/${line}`),
  map: (version: Version, analysed: boolean, signal?: AbortSignal) =>
    ask<RulesMap>(`map?${versioned(version, { analysed: String(analysed) })}`, { signal }),
  table: (version: Version, table: string, analysed: boolean) =>
    ask<DecisionTable>(`table?${versioned(version, { table, analysed: String(analysed) })}`),
  editRow: (body: EditRow) => post<EditedRow>('rows', body),
  file: (rules: number, file: string) => ask<FileText>(`file?${query({ rules, file })}`),
  check: (body: Check, signal?: AbortSignal) => post<Checked>('check', body, signal),
  complete: (body: At, signal?: AbortSignal) => post<Completions>('complete', body, signal),
  hover: (body: At) => post<Hover | null>('hover', body),
  definition: (body: At) => post<SourceRange | null>('definition', body),
  format: (text: string) => post<Formatted>('format', { text }),
  save: (body: Save) => post<Saved>('save', body),
  code: (code: string, signal?: AbortSignal) =>
    ask<CodePage>(`codes/${encodeURIComponent(code)}`, { signal }),
  report: (body: AskReport, signal?: AbortSignal) => post<Report>('report', body, signal),
  traffic: (signal?: AbortSignal) => ask<Traffic>('traffic', { signal }),
  reportFile: async (body: AskReport) => (await send('report.html', { body })).blob(),
};

/** Calls `onProgress` for every progress event of a replay, up to the last event. */
export async function followReplay(
  id: number,
  onProgress: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<void> {
  const response = await send(`replays/${id}/events`, { signal });
  if (!response.body) return;
  for await (const data of events(response.body)) onProgress(JSON.parse(data) as Progress);
}
