// Axes of figures; no browser needed.

// The least of 1, 2, 5, 10, … times a power of ten that makes at most `most` steps of `range`.
export function stepOf(range: number, most = 8): number {
    const power = 10 ** Math.floor(Math.log10(Math.max(range, 1e-9) / most));
    return [1, 2, 5].map((factor) => factor * power).find((step) => range / step <= most * (1 + 1e-9)) ?? 10 * power;
}

// Multiples of the step within [low, high].
export function ticksOf(low: number, high: number, most = 8): number[] {
    const step = stepOf(high - low, most);
    const ticks: number[] = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && ticks.length <= 2 * most; i++) {
        ticks.push(i * step + 0);
    }
    return ticks;
}

// 0 for the fewest, 1 for the most, by the logarithm.
export function shadeOfCount(count: number, most: number): number {
    return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}
