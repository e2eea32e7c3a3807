// Requests to the page's server: tables, and files of exports.

export type Cell = string | number | null;

export interface Ledger {
    produced: number;
    stored: number;
    expired: number;
    lost: Record<string, number>;
}

export interface Answer {
    columns: { name: string; unit: string }[];
    rows: Cell[][];
    ledger: Ledger;
    warnings: string[];
    measure?: { event: string; unit: string; total: number; samples: number; others: string[] };
}

// Options as on the command line, without dashes. Empty values aren't sent.
export type Params = Record<string, string>;

export interface Asking {
    signal: AbortSignal;
    onProgress?(done: number, total: number): void;
}

export class ApiError extends Error {
    constructor(readonly status: number, message: string, readonly needsToken = false) {
        super(message);
    }
}

const kToken = 'perfleet-token';
const kLines = 'application/x-ndjson';  // of answers with progress: lines, then the answer
const kProgress = '{"progress"';

export function setToken(token: string): void {
    sessionStorage.setItem(kToken, token);
}

function headers(): Record<string, string> {
    const token = sessionStorage.getItem(kToken);
    return token === null ? {} : { Authorization: 'Bearer ' + token };
}

function urlOf(path: string, params: Params): string {
    const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== ''));
    return path + (query.size === 0 ? '' : '?' + query.toString());
}

export function exportUrl(format: string, params: Params): string {
    return urlOf('/api/v1/export', { to: format, ...params });
}

// The error message of a failed answer.
function failure(status: number, text: string, needsToken = false): ApiError {
    try {
        return new ApiError(status, (JSON.parse(text) as { error: string }).error, needsToken);
    } catch {
        return new ApiError(status, text.trim() || `the server answered ${status}`, needsToken);
    }
}

async function textOf(response: Response, onProgress: Asking['onProgress']): Promise<string> {
    if (response.headers.get('content-type') !== kLines) {
        return response.text();
    }
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    const parts: string[] = [];
    let line = '';
    for (let isHead = true; ;) {
        const { done, value } = await reader.read();
        if (done) {
            return line + parts.join('');
        }
        if (!isHead) {
            parts.push(value);
            continue;
        }
        line += value;
        for (let end = line.indexOf('\n'); line.startsWith(kProgress) && end >= 0; end = line.indexOf('\n')) {
            const [read, all] = (JSON.parse(line.slice(0, end)) as { progress: [number, number] }).progress;
            onProgress?.(read, all);
            line = line.slice(end + 1);
        }
        isHead = kProgress.startsWith(line.slice(0, kProgress.length));
    }
}

async function get(url: string, { signal, onProgress }: Asking): Promise<unknown> {
    let response: Response;
    try {
        response = await fetch(url, { signal, headers: { ...headers(), Accept: kLines } });
    } catch (error) {
        throw signal.aborted ? error : new ApiError(0, 'the server can\'t be reached');
    }
    const text = await textOf(response, onProgress);
    if (!response.ok) {
        throw failure(response.status, text, response.headers.has('www-authenticate'));
    }
    const answer = JSON.parse(text) as { error?: string; status?: number };
    if (answer.error !== undefined) {
        throw new ApiError(answer.status ?? 500, answer.error);
    }
    return answer;
}

export function ask(command: string, params: Params, asking: Asking): Promise<Answer> {
    return get(urlOf('/api/v1/query/' + command, params), asking) as Promise<Answer>;
}

// The data of a page of `perfleet flamegraph` or `timeline`.
export function askPage<Data>(format: string, params: Params, asking: Asking): Promise<Data> {
    return get(exportUrl(format, { ...params, as: 'json' }), asking) as Promise<Data>;
}

// Saves a file by the browser's download.
export async function download(name: string, url: string): Promise<void> {
    const link = document.createElement('a');
    link.download = name;
    link.href = url;
    if (Object.keys(headers()).length !== 0) {  // a link can't carry credentials
        const response = await fetch(url, { headers: headers() });
        if (!response.ok) {
            throw failure(response.status, await response.text());
        }
        link.href = URL.createObjectURL(await response.blob());
        setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    }
    link.click();
}

// The column of a name; -1: there is none.
export function columnOf(answer: Answer, name: string): number {
    return answer.columns.findIndex((column) => column.name === name);
}

// Reads rows by the names of columns: of(row, 'target').
export function reader(answer: Answer): (row: Cell[], name: string) => Cell {
    const places = new Map(answer.columns.map((column, i) => [column.name, i]));
    return (row, name) => row[places.get(name) ?? -1] ?? null;
}

export function lostOf(ledger: Ledger): number {
    return Object.values(ledger.lost).filter((value) => typeof value === 'number').reduce((sum, value) => sum + value, 0);
}

export function ledgerText({ produced, stored, expired, lost }: Ledger): string {
    const count = (value: number) => value.toLocaleString('en-US');
    const reasons = Object.entries(lost).filter(([, value]) => typeof value === 'number' && value > 0).map(([name, value]) => `${count(value)} ${name}`);
    return produced === stored ? `${count(produced)} rows produced, all stored` : `${count(produced)} rows produced: ${count(stored)} stored` + (expired > 0 ? `, ${count(expired)} expired` : '') + (reasons.length > 0 ? `, lost: ${reasons.join(', ')}` : '');
}
