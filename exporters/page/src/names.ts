// The page's data as arrays.
import type { FlameData, Slices } from './data.js';

export interface Verdict { change: number; text: string }

export interface SliceTimes { startMs: number; widthMs: number; count: number }

export class Profile {
    readonly functionCount: number;
    readonly functionName: Int32Array;
    readonly functionImage: Int32Array;
    readonly frameDepth: Int32Array;
    readonly frameFunction: Int32Array;
    readonly slices: SliceTimes;
    readonly before: SliceTimes | null;
    readonly sliceTotals: Float64Array;
    readonly verdicts = new Map<number, { self?: Verdict; total?: Verdict }>();
    private readonly cellFrame: Int32Array;
    private readonly cellSlice: Int32Array;
    private readonly cellValue: Float64Array;
    private readonly cellBegin: Int32Array;  // cells of frame i: from cellBegin[i] to cellBegin[i + 1]

    constructor(readonly data: FlameData) {
        this.functionCount = data.functions.name.length;
        this.functionName = Int32Array.from(data.functions.name);
        this.functionImage = Int32Array.from(data.functions.image);
        // Frame 0 stands for all samples: the others are one deeper than in the data.
        const count = data.frames.depth.length;
        this.frameDepth = new Int32Array(count + 1);
        this.frameFunction = new Int32Array(count + 1).fill(-1);
        for (let i = 0; i < count; i++) {
            this.frameDepth[i + 1] = data.frames.depth[i] + 1;
            this.frameFunction[i + 1] = data.frames.function[i];
        }
        const cells = data.cells;
        this.cellFrame = new Int32Array(cells.frame.length);
        for (let i = 0, frame = 1; i < cells.frame.length; i++) {
            frame += cells.frame[i];
            this.cellFrame[i] = frame;
        }
        this.cellSlice = Int32Array.from(cells.slice);
        this.cellValue = Float64Array.from(cells.value);
        this.cellBegin = new Int32Array(count + 2);
        for (let i = 0; i < this.cellFrame.length; i++) {
            this.cellBegin[this.cellFrame[i] + 1]++;
        }
        for (let i = 0; i <= count; i++) {
            this.cellBegin[i + 1] += this.cellBegin[i];
        }
        this.slices = sliceTimes(data.slices);
        this.before = data.before ? sliceTimes(data.before.slices) : null;
        this.sliceTotals = new Float64Array(this.slices.count + (this.before ? this.before.count : 0));
        for (let i = 0; i < this.cellSlice.length; i++) {
            this.sliceTotals[this.cellSlice[i]] += this.cellValue[i];
        }
        if (data.before) {
            const said = data.before.verdicts;
            said.function.forEach((number, i) => {
                const known = this.verdicts.get(number) || {};
                known[said.self[i] ? 'self' : 'total'] = { change: said.change[i], text: said.text[i] };
                this.verdicts.set(number, known);
            });
        }
    }

    name(number: number): string {
        return number < 0 ? 'all' : this.data.strings[this.functionName[number]];
    }

    // '' for commands, and for all.
    image(number: number): string {
        return number < 0 || this.functionImage[number] < 0 ? '' : this.data.strings[this.functionImage[number]];
    }

    isCommand(number: number): boolean {
        return number >= 0 && this.functionImage[number] < 0;
    }

    // Samples that end in each frame, of slices [from, to).
    selfOf(from: number, to: number): Float64Array {
        const self = new Float64Array(this.frameDepth.length);
        for (let i = 0; i < this.cellFrame.length; i++) {
            if (this.cellSlice[i] >= from && this.cellSlice[i] < to) {
                self[this.cellFrame[i]] += this.cellValue[i];
            }
        }
        return self;
    }

    // Adds the samples of frames [first, end) to `sums`, by slice.
    addSlices(first: number, end: number, sums: Float64Array): void {
        for (let i = this.cellBegin[first]; i < this.cellBegin[end]; i++) {
            sums[this.cellSlice[i]] += this.cellValue[i];
        }
    }
}

function sliceTimes(slices: Slices): SliceTimes {
    return { startMs: Number(BigInt(slices.start_ns) / 1000n) / 1000, widthMs: Number(slices.width_ns) / 1e6, count: slices.count };
}
