// Colours of frames: by image or command, and of what changed. Each has a fill for light and for dark pages.
import type { Profile } from './names.js';

const kFirstHue = 28;
const kGoldenAngle = 137.508;
const kKernelHue = 212;

function hueOf(rank: number): number {
    return (kFirstHue + rank * kGoldenAngle) % 360;
}

// So that neighbours of one image can be told apart.
function shadeOf(text: string): number {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) {
        hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    }
    return ((hash >>> 8) % 9) - 4;
}

export function isKernel(image: string): boolean {
    return image.startsWith('[kernel') || image.startsWith('[guest.kernel') || image.endsWith('.ko]');
}

export class Colours {
    private readonly imageHues: Map<number, number>;
    private readonly commandHues: Map<number, number>;
    private readonly shades: Int8Array;
    private readonly cache = new Map<number, string>();

    constructor(private readonly profile: Profile, totals: Float64Array) {
        this.imageHues = this.rankHues(totals, (number) => profile.functionImage[number]);
        this.commandHues = this.rankHues(totals, (number) => profile.isCommand(number) ? number : -1);
        this.shades = Int8Array.from({ length: profile.functionCount }, (_, i) => shadeOf(profile.name(i)));
    }

    // The most sampled first: they get the hues that lie farthest apart.
    private rankHues(totals: Float64Array, keyOf: (number: number) => number): Map<number, number> {
        const sums = new Map<number, number>();
        for (let i = 0; i < this.profile.functionCount; i++) {
            const key = keyOf(i);
            if (key >= 0) {
                sums.set(key, (sums.get(key) || 0) + totals[i]);
            }
        }
        const keys = [...sums.keys()].sort((a, b) => sums.get(b)! - sums.get(a)! || a - b);
        return new Map(keys.map((key, rank) => [key, hueOf(rank)]));
    }

    private made(hue: number, saturation: number, shade: number, isDark: boolean): string {
        const key = ((hue * 16 | 0) * 128 + saturation) * 64 + shade * 2 + (isDark ? 1 : 0);
        let text = this.cache.get(key);
        if (text === undefined) {
            text = isDark ? `hsl(${hue} ${saturation * 0.7}% ${33 + shade}%)` : `hsl(${hue} ${saturation}% ${74 + shade}%)`;
            this.cache.set(key, text);
        }
        return text;
    }

    ofImage(number: number, isDark: boolean): string {
        if (number < 0 || this.profile.isCommand(number)) {
            return isDark ? '#3d434b' : '#d5d9de';
        }
        const image = this.profile.image(number);
        const hue = isKernel(image) ? kKernelHue : this.imageHues.get(this.profile.functionImage[number])!;
        return this.made(hue, 70, this.shades[number], isDark);
    }

    ofCommand(command: number, number: number, isDark: boolean): string {
        return command < 0 ? (isDark ? '#3d434b' : '#d5d9de') : this.made(this.commandHues.get(command) ?? 0, 60, this.shades[number], isDark);
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
