// Intervals of shares, as perfleet computes them (docs/statistics.md): Clopper and Pearson's, for the effective number
// of independent samples. Samples that are close in time are alike: slices of time are the clusters.

// Lanczos' approximation, g = 7.
const kGamma = [0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];

function logGamma(x: number): number {
    if (x < 0.5) {
        return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
    }
    let sum = kGamma[0];
    for (let i = 1; i < 9; i++) {
        sum += kGamma[i] / (x - 1 + i);
    }
    const t = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

// Lentz's method for the continued fraction of the incomplete beta function.
function betaFraction(a: number, b: number, x: number): number {
    const kSteps = 1000;
    const tiny = 1e-300;
    let c = 1;
    let d = 1 - (a + b) * x / (a + 1);
    d = 1 / (Math.abs(d) < tiny ? tiny : d);
    let value = d;
    for (let m = 1; m <= kSteps; m++) {
        for (const term of [m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)), -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))]) {
            d = 1 + term * d;
            d = 1 / (Math.abs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = Math.abs(c) < tiny ? tiny : c;
            value *= d * c;
        }
        if (Math.abs(d * c - 1) < 1e-14) {
            break;
        }
    }
    return value;
}

// Regularised.
export function incompleteBeta(a: number, b: number, x: number): number {
    if (x <= 0 || x >= 1) {
        return x <= 0 ? 0 : 1;
    }
    const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
    return x < (a + 1) / (a + b + 2) ? front * betaFraction(a, b, x) / a : 1 - front * betaFraction(b, a, 1 - x) / b;
}

function bisect(isBelow: (x: number) => boolean, low: number, high: number): number {
    for (let i = 0; i < 60; i++) {
        const middle = (low + high) / 2;
        if (isBelow(middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (low + high) / 2;
}

export function betaQuantile(p: number, a: number, b: number): number {
    return bisect((x) => incompleteBeta(a, b, x) < p, 0, 1);
}

// Student's t that is exceeded with probability `tail`.
export function studentQuantile(tail: number, degrees: number): number {
    const above = (t: number) => incompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t)) / 2;
    return bisect((t) => above(t) > tail, 0, 1e6);
}

const kNormalQuantile = 1.959963984540054;
const kTail = 0.025;

export interface Interval { share: number; low: number; high: number; effect: number }

// The interval of 95 % of Σ hits ÷ Σ counts; null where fewer than two clusters have samples. Of samples that weigh
// differently both are sums of weights, and `weightOfOne` stands for a sample of equal weights (Kish). `isIndependent`:
// samples have no times, so clusters mean nothing.
export function shareInterval(hits: ArrayLike<number>, counts: ArrayLike<number>, weightOfOne = 1, first = 0, end = counts.length, isIndependent = false): Interval | null {
    let sum = 0;
    let count = 0;
    let clusters = 0;
    for (let i = first; i < end; i++) {
        sum += hits[i];
        count += counts[i];
        clusters += counts[i] > 0 ? 1 : 0;
    }
    if (count <= 0 || (clusters < 2 && !isIndependent)) {
        return null;
    }
    const share = Math.min(1, sum / count);
    let squares = 0;
    for (let i = first; i < end; i++) {
        squares += counts[i] > 0 ? (hits[i] - share * counts[i]) ** 2 : 0;
    }
    const independent = count * weightOfOne * share * (1 - share);
    const effect = independent > 0 && !isIndependent ? Math.max(1, clusters / (clusters - 1) * squares / independent) : 1;
    // As effective_count() in query-engine/statistic/number/cluster.h.
    const excess = isIndependent ? 0 : effect * (studentQuantile(kTail, clusters - 1) / kNormalQuantile) ** 2 - 1;
    const worth = count / weightOfOne / (1 + Math.max(0, excess - 2 / ((clusters - 1) * excess)));
    const seen = share * worth;
    return {
        share,
        low: seen <= 0 ? 0 : betaQuantile(kTail, seen, worth - seen + 1),
        high: worth - seen <= 0 ? 1 : betaQuantile(1 - kTail, seen + 1, worth - seen),
        effect,
    };
}
