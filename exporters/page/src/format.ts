// Texts of counts, amounts, times and shares; no browser needed.

// "1.5 ms", in the unit that `range` is best told in.
export function durationText(ns: number, range = ns, digits = 6): string {
    const [unit, worth] = range >= 1e9 ? ['s', 1e9] as const : range >= 1e6 ? ['ms', 1e6] as const : range >= 1e3 ? ['us', 1e3] as const : ['ns', 1] as const;
    return String(Number((ns / worth).toPrecision(digits))) + ' ' + unit;
}

export function formatCount(value: number): string {
    return Math.round(value).toLocaleString('en-US');
}

// "1 value", "12,345 values".
export function formatNumber(value: number, noun: string): string {
    return formatCount(value) + ' ' + noun + (value === 1 ? '' : 's');
}

// "12,345 samples", "1.5 s".
export function formatAmount(value: number, unit: string): string {
    return unit === 'ns' ? durationText(value) : formatCount(value) + ' ' + unit;
}

export function formatPercent(share: number): string {
    return (100 * share).toFixed(2) + ' %';
}

// "12.345" of 12345 thousandths; exact for decimal text of any length.
export function inUnit(parts: string | number, decimals: number): string {
    const whole = typeof parts === 'string' ? parts : String(Math.round(parts));
    if (decimals === 0) {
        return whole;
    }
    const padded = whole.padStart(decimals + 1, '0');
    const rest = padded.slice(-decimals).replace(/0+$/, '');
    return padded.slice(0, -decimals) + (rest === '' ? '' : '.' + rest);
}
