// Colours of frames: by image, function, kind or command, and by change. Each has a fill for light and for dark pages.
import type { Profile } from './names.js';
import type { Sums } from './tree.js';

const kFirstHue = 28;
const kGoldenAngle = 137.508;
const kOneImage = 0.8;  // of all but the kernel's frames: a page of mostly one image is coloured by function
const kKindHues = { kernel: 212, user: 28, inlined: 62, JIT: 140, interpreted: 292 };

export type Coloring = 'image' | 'function' | 'kind' | 'command';

// The same on every page.
function hashOf(text: string): number {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) {
        hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    }
    return hash >>> 8;
}

export class Colours {
    readonly kinds: (keyof typeof kKindHues | '')[];  // of functions; '': a command
    private readonly imageHues: Map<number, number>;
    private readonly commandHues: Map<number, number>;
    private readonly hashes: Uint32Array;
    private readonly cache = new Map<number, string>();

    constructor(private readonly profile: Profile, private readonly sums: Sums) {
        const numbers = [...profile.functionName.keys()];
        this.kinds = numbers.map((i) => this.kindOf(i));
        this.hashes = Uint32Array.from(numbers, (i) => hashOf(profile.name(i)));
        this.imageHues = this.rankHues((number) => profile.functionImage[number]);
        this.commandHues = this.rankHues((number) => profile.isCommand(number) ? number : -1);
    }

    private kindOf(number: number): keyof typeof kKindHues | '' {
        const image = this.profile.image(number);
        const isKernel = image.startsWith('[kernel') || image.startsWith('[guest.kernel') || image.endsWith('.ko]');
        return image === '' ? '' : isKernel ? 'kernel' : image === '[JIT]' ? 'JIT' : image === '[python]' ? 'interpreted' : this.profile.name(number).endsWith(' (inlined)') ? 'inlined' : 'user';
    }

    // The most sampled first: they get the hues that are farthest apart.
    private rankHues(keyOf: (number: number) => number): Map<number, number> {
        const sums = new Map<number, number>();
        this.kinds.forEach((_, i) => keyOf(i) >= 0 && sums.set(keyOf(i), (sums.get(keyOf(i)) ?? 0) + this.sums.total[i]));
        const keys = [...sums.keys()].sort((a, b) => sums.get(b)! - sums.get(a)! || a - b);
        return new Map(keys.map((key, rank) => [key, (kFirstHue + rank * kGoldenAngle) % 360]));
    }

    // The properties by which a page's frames are coloured.
    best(): Coloring {
        const sums = new Map<number, number>();
        this.kinds.forEach((kind, i) => kind !== '' && kind !== 'kernel' && sums.set(this.profile.functionImage[i], (sums.get(this.profile.functionImage[i]) ?? 0) + this.sums.self[i]));
        const values = [...sums.values()];
        return values.length > 0 && Math.max(...values) > kOneImage * values.reduce((a, b) => a + b) ? 'function' : 'image';
    }

    private made(hue: number, saturation: number, shade: number, isDark: boolean): string {
        const key = ((hue * 16 | 0) * 128 + saturation) * 64 + shade * 2 + (isDark ? 1 : 0);
        let text = this.cache.get(key);
        if (text === undefined) {
            text = isDark ? `hsl(${hue} ${saturation * 0.7}% ${27 + shade}%)` : `hsl(${hue} ${saturation}% ${74 + shade}%)`;
            this.cache.set(key, text);
        }
        return text;
    }

    // `command`: the one that the frame is of, or -1.
    of(by: Coloring, number: number, command: number, isDark: boolean): string {
        const kind = this.kinds[number] ?? '';
        if (by === 'command' ? command < 0 : kind === '') {
            return isDark ? '#3d434b' : '#d5d9de';
        }
        const hash = this.hashes[number];
        const shade = hash % 9 - 4;  // so that neighbours of one image can be distinguished
        switch (by) {
            case 'command': return this.made(this.commandHues.get(command)!, 60, shade, isDark);
            case 'function': return this.made(hash % 360, 65, shade, isDark);
            case 'kind': return this.made(kKindHues[kind as keyof typeof kKindHues], 70, shade, isDark);
            case 'image': return this.made(kind === 'kernel' ? kKindHues.kernel : this.imageHues.get(this.profile.functionImage[number])!, 70, shade, isDark);
        }
    }

    // The legend's text for a function's colour; '': none.
    keyOf(by: Coloring, number: number): string {
        return by === 'command' ? (this.profile.isCommand(number) ? this.profile.name(number) : '') : by === 'kind' ? this.kinds[number] : this.kinds[number] === '' ? '' : by === 'image' ? this.profile.image(number) : this.profile.name(number);
    }

    // `change`: 1 more, -1 less, 0 noise; `points`: difference of the frame's shares.
    static ofChange(change: number, points: number, isDark: boolean): string {
        if (change === 0) {
            return isDark ? '#40454c' : '#dcdfe3';
        }
        const strength = Math.min(1, 0.35 + Math.sqrt(Math.abs(points)) * 2);
        const hue = change > 0 ? 8 : 215;
        return isDark ? `hsl(${hue} ${40 + 35 * strength}% ${30 + 14 * strength}%)` : `hsl(${hue} ${60 + 30 * strength}% ${88 - 26 * strength}%)`;
    }
}
