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

// 1, 2, 5 times powers of ten within [low, high]; or powers alone, or every second one, where those are too many.
export function logTicksOf(low: number, high: number, most = 8): number[] {
    const [first, last] = [Math.floor(Math.log10(Math.max(low, 1e-9))), Math.floor(Math.log10(Math.max(high, 1e-9)))];
    for (const [factors, every] of [[[1, 2, 5], 1], [[1], 1], [[1], 2], [[1], 3], [[1], 6]] as const) {
        const powers = Array.from({ length: last - first + 1 }, (_, i) => first + i).filter((power) => power % every === 0);
        const ticks = powers.flatMap((power) => factors.map((factor) => factor * 10 ** power)).filter((tick) => tick >= low && tick <= high);
        if (ticks.length <= most) {
            return ticks;
        }
    }
    return [];
}

// 0 for the fewest, 1 for the most, by the logarithm.
export function shadeOfCount(count: number, most: number): number {
    return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}
