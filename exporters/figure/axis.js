// Axes and texts of figures; no browser needed.

// The least of 1, 2, 5, 10, … times a power of ten that makes at most `most` steps of `range`.
export function stepOf(range, most = 8) {
    const power = 10 ** Math.floor(Math.log10(Math.max(range, 1e-9) / most));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => range / step <= most * (1 + 1e-9));
}

// Multiples of the step within [low, high].
export function ticksOf(low, high, most = 8) {
    const step = stepOf(high - low, most);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9 && ticks.length <= 2 * most; i++) {
        ticks.push(i * step + 0);
    }
    return ticks;
}

// "12.345" of 12345 thousandths; exact for decimal text of any length.
export function inUnit(parts, decimals) {
    const whole = typeof parts === 'string' ? parts : String(Math.round(parts));
    if (decimals === 0) {
        return whole;
    }
    const padded = whole.padStart(decimals + 1, '0');
    const rest = padded.slice(-decimals).replace(/0+$/, '');
    return padded.slice(0, -decimals) + (rest === '' ? '' : '.' + rest);
}

// 0 for the fewest, 1 for the most, by the logarithm.
export function shadeOfCount(count, most) {
    return most <= 1 ? 1 : Math.log(count) / Math.log(most);
}
