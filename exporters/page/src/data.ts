// The data of pages: exporters/html/page_data.h, exporters/figure/figure_page.h and exporters/schedule/schedule_page.h have
// the formats.

export interface Head { title: string; ledgers: { name: string; text: string; is_whole: boolean }[]; warnings: string[] }

export interface Slices { start_ns: string; width_ns: string; count: number }

export interface Session { id: string; name: string; target: string; architecture: string; command: string }

export interface FlameData extends Head {
    event: string;
    unit: string;
    weight_of_one: number;
    sampled: boolean;
    independent: boolean;
    sessions: Session[];
    session_count: number;
    strings: string[];
    functions: { name: number[]; image: number[] };
    frames: { depth: number[]; function: number[] };
    cells: { frame: number[]; slice: number[]; value: number[] };
    slices: Slices;
    before: null | {
        name: string;
        slices: Slices;
        sessions: Session[];
        session_count: number;
        verdicts: { function: number[]; self: number[]; change: number[]; text: string[] };
    };
    cut: { frames: number; value: number };
}

interface FigureHead extends Head { subtitle: string; unit: string; decimals: number; figures: [name: string, text: string][] }

export interface Buckets { from: string[]; to: string[]; count: string[] }

export interface HistogramData extends FigureHead {
    kind: 'histogram';
    histogram: Buckets & { shape: 'linear' | 'log2' | 'cumulative'; marks: [name: string, value: number][]; log2?: Buckets | null };
}

export interface Parts { low: string[]; high: string[] }

export interface HeatMapData extends FigureHead {
    kind: 'heat map';
    heat_map: { begin: string; times: Parts; steps: Parts; has_rest: boolean; cells: { time: number[]; step: number[]; count: string[] } };
}

export interface Lane {
    name: string;
    busy_ns: number;
    begin: number[];
    length: number[];
    thread: number[];
    preempted: number[];
    runs: number[];
}

export interface ScheduleData extends FigureHead {
    kind: 'schedule';
    schedule: {
        start: string;
        duration_ns: number;
        sampled: boolean;
        threads: { name: string[]; running_ns: number[]; runs: number[]; longest_ns: number[]; preempted: number[] };
        lanes: Lane[];
    };
}

export type FigureData = HistogramData | HeatMapData | ScheduleData;
