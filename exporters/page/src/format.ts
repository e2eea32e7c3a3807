// Texts of counts, amounts, times and shares; no browser needed.

// "1.5 ms", in the unit that suits `range`.
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

const kWorthNs: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

// "11 ms" of 11,000,000 ns, "3 MiB", "12 M cycles": in the unit that suits `range`.
export function quantityText(value: number, unit: string, range = value, digits = 6): string {
    const worth = kWorthNs[unit];
    if (worth !== undefined) {
        return durationText(value * worth, range * worth, digits);
    }
    const isBytes = unit === 'bytes';
    const base = isBytes ? 1024 : 1000;
    const power = Math.min(4, Math.max(0, Math.floor(Math.log(Math.max(Math.abs(range), 1)) / Math.log(base) + 1e-9)));
    const prefix = ['', 'k', 'M', 'G', 'T'][power];
    const name = isBytes ? (power === 0 ? unit : prefix.toUpperCase() + 'iB') : [prefix, unit].filter((one) => one !== '').join(' ');
    return (Number((value / base ** power).toPrecision(digits)) + ' ' + name).trimEnd();
}
