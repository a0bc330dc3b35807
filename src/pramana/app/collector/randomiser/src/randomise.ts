/**
 * Randomise one person's answers on their own device, by the law that a certificate states.
 *
 * A law is integers out of ONE = 2^62. A coin is the upper 62 bits of a 64-bit word, and every decision is a
 * comparison of integers: no floating-point number takes part. Given the same words, the draws are those of Pramana's
 * own samplers; `vectors.json` beside this module holds examples that both must follow.
 */

export const ONE = 1n << 62n;
const BITS = 62;
const DROP = 2n; // of a word's 64 bits
const WORD = 64n;

/** How one answer is drawn, as a certificate states it; large integers are text. */
export type Channel =
  | { readonly kind: "retention"; readonly size: number; readonly step: string }
  | { readonly kind: "redrawn"; readonly size: number }
  | { readonly kind: "dense"; readonly weights: readonly (readonly string[])[] };

/** A coin for each answer, or one for all of them. */
export type Law =
  | { readonly coin: "attribute"; readonly channels: Readonly<Record<string, Channel>> }
  | { readonly coin: "record"; readonly sizes: Readonly<Record<string, number>>; readonly bound: string };

/** A source of uniform 64-bit words. */
export type Words = () => bigint;

/** Draws records: codes of the true answers in, codes of what is sent out, in the order of the columns. */
export interface Randomiser {
  readonly sizes: readonly number[];
  randomise(codes: readonly number[]): number[];
}

/** Words from the system's own source of randomness, each used once and wiped. */
export function systemWords(): Words {
  const words = new BigUint64Array(128);
  let next = words.length;
  return () => {
    if (next === words.length) {
      crypto.getRandomValues(words);
      next = 0;
    }
    const word = words[next]!;
    words[next++] = 0n;
    return word;
  };
}

/**
 * A randomiser for `columns`. It reads one word for each of them in this order and, where the whole record has one
 * coin, a word for that coin before them.
 */
export function randomiserOf(law: Law, columns: readonly string[], words: Words = systemWords()): Randomiser {
  if (columns.length === 0 || new Set(columns).size !== columns.length) {
    throw new RangeError("a record must have columns, each once");
  }
  if (law.coin === "attribute") {
    const draws = columns.map((name) => drawOf(stated(law.channels, name)));
    const sizes = columns.map((name) => sizeOf(stated(law.channels, name)));
    return {
      sizes,
      randomise: (codes) => checked(codes, sizes).map((code, i) => draws[i]!(code, words())),
    };
  }
  const sizes = columns.map((name) => wholeSize(stated(law.sizes, name)));
  const bound = weight(law.bound);
  return {
    sizes,
    randomise: (codes) => {
      checked(codes, sizes);
      const redrawn = words() >> DROP < bound;
      return codes.map((code, i) => {
        const fresh = Number((words() * BigInt(sizes[i]!)) >> WORD);
        return redrawn ? fresh : code;
      });
    },
  };
}

type Draw = (code: number, word: bigint) => number;

function drawOf(channel: Channel): Draw {
  switch (channel.kind) {
    case "retention": {
      const step = weight(channel.step);
      const bound = step * BigInt(wholeSize(channel.size));
      if (bound > ONE) throw new RangeError("size * step must be at most 2^62");
      return (code, word) => {
        const r = word >> DROP;
        return r < bound ? Number(r / step) : code;
      };
    }
    case "redrawn": {
      const size = BigInt(wholeSize(channel.size));
      const step = ONE / size;
      return (_, word) => {
        const r = word >> DROP;
        return r < size * step ? Number(r / step) : 0; // what is left over goes to the first value, for everyone
      };
    }
    case "dense":
      return denseDraw(channel.weights);
    default:
      throw new RangeError("a channel must be of a known kind");
  }
}

/** A slot's own value has `own` chances of the slot's capacity; the rest are the other value's. */
interface Slot {
  own: bigint;
  other: number;
}

function denseDraw(weights: readonly (readonly string[])[]): Draw {
  const size = wholeSize(weights.length);
  const bits = size === 1 ? 0 : 32 - Math.clz32(size - 1);
  const tables = weights.map((row) => aliasTable(row.map(weight), size, bits));
  const shift = BigInt(BITS - bits);
  const mask = (1n << shift) - 1n;
  return (code, word) => {
    const r = word >> DROP;
    const at = Number(r >> shift);
    const slot = tables[code]![at]!;
    return (r & mask) < slot.own ? at : slot.other;
  };
}

/** Walker's method in integers: a slot that is too empty is filled up by a value that has too much. */
function aliasTable(row: readonly bigint[], size: number, bits: number): Slot[] {
  const slots = 1 << bits;
  const capacity = 1n << BigInt(BITS - bits);
  const share: bigint[] = [];
  const poor: number[] = [];
  const rich: number[] = [];
  if (row.length !== size || row.reduce((a, b) => a + b, 0n) !== ONE) {
    throw new RangeError("every row of a matrix must have one weight for each value, which sum to 2^62");
  }
  for (let value = 0; value < slots; value++) {
    share.push(row[value] ?? 0n);
    (share[value]! < capacity ? poor : rich).push(value);
  }
  const table: Slot[] = Array.from({ length: slots }, (_, value) => ({ own: 0n, other: value }));
  while (poor.length > 0) {
    const slot = poor.pop()!;
    const donor = rich[rich.length - 1]!;
    table[slot] = { own: share[slot]!, other: donor };
    share[donor] = share[donor]! - (capacity - share[slot]!);
    if (share[donor]! < capacity) {
      rich.pop();
      poor.push(donor);
    }
  }
  return table;
}

function sizeOf(channel: Channel): number {
  return channel.kind === "dense" ? channel.weights.length : channel.size;
}

function stated<T>(parts: Readonly<Record<string, T>>, name: string): T {
  if (!Object.hasOwn(parts, name)) throw new RangeError("the law must state every column");
  return parts[name]!;
}

function wholeSize(size: number): number {
  if (!Number.isInteger(size) || size < 1 || size > 2 ** 31) throw new RangeError("a domain must have 1 to 2^31 values");
  return size;
}

function weight(text: string): bigint {
  if (!/^[0-9]{1,19}$/.test(text) || BigInt(text) > ONE) throw new RangeError("weights must be integers up to 2^62");
  return BigInt(text);
}

function checked(codes: readonly number[], sizes: readonly number[]): readonly number[] {
  const fits = codes.length === sizes.length && codes.every((c, i) => Number.isInteger(c) && c >= 0 && c < sizes[i]!);
  if (!fits) throw new RangeError("every code must lie in its domain");
  return codes;
}

// ---------------------------------------------------------------- remembered coins

/** What is needed of `localStorage`. */
export interface Keeper {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const KEPT = "pramana coins";
const MOST_RECORDS = 4096; // that one coin for the whole record is remembered for

/** What a question is: asked again with the same values and law, it is the same question. */
interface Remembered {
  readonly question: string;
  readonly sent: readonly number[];
}

/**
 * A randomiser that throws the coins of a question once: whoever is asked again and answers the same sends the same.
 *
 * Else the noise would average away over many rounds. What is kept is drawn for every possible answer at once, so
 * that it does not tell which answer was given. Where nothing can be kept, `remembers` is false and coins are fresh.
 */
export class RememberingRandomiser implements Randomiser {
  readonly sizes: readonly number[];
  readonly remembers: boolean;
  private readonly tables: readonly (readonly number[])[];
  private readonly fresh: Randomiser;

  constructor(
    private readonly law: Law,
    private readonly columns: readonly string[],
    labels: readonly (readonly string[])[],
    private readonly keeper: Keeper | null,
    private readonly words: Words = systemWords(),
  ) {
    this.fresh = randomiserOf(law, columns, words);
    this.sizes = this.fresh.sizes;
    const records = this.sizes.reduce((a, b) => a * b, 1);
    const tables = law.coin === "record" && records > MOST_RECORDS ? null : this.remembered(labels);
    this.remembers = tables !== null;
    this.tables = tables ?? [];
  }

  randomise(codes: readonly number[]): number[] {
    checked(codes, this.sizes);
    if (!this.remembers) return this.fresh.randomise(codes);
    if (this.law.coin === "attribute") return codes.map((code, i) => this.tables[i]![code]!);
    return this.split(this.tables[0]![codes.reduce((joint, code, i) => joint * this.sizes[i]! + code, 0)]!);
  }

  /** For each answer that can be given what is sent, from the keeper or drawn and kept now; null if it cannot be. */
  private remembered(labels: readonly (readonly string[])[]): number[][] | null {
    try {
      if (this.keeper === null) return null;
      const kept = readKept(this.keeper);
      const questions = this.law.coin === "record" ? [this.whole(labels)] : this.columns.map((_, i) => this.one(i, labels));
      const tables = questions.map(({ question, size, draw }) => {
        const known = kept.find((entry) => entry.question === question);
        if (known?.sent.length === size && known.sent.every((c) => Number.isInteger(c) && c >= 0 && c < size)) {
          return [...known.sent];
        }
        const sent = Array.from({ length: size }, (_, code) => draw(code));
        kept.push({ question, sent });
        return sent;
      });
      const text = JSON.stringify(kept);
      this.keeper.setItem(KEPT, text);
      return this.keeper.getItem(KEPT) === text ? tables : null;
    } catch {
      return null; // storage is full or forbidden
    }
  }

  private one(i: number, labels: readonly (readonly string[])[]) {
    const name = this.columns[i]!;
    const channel = this.law.coin === "attribute" ? stated(this.law.channels, name) : null;
    const draw = drawOf(channel!);
    const question = JSON.stringify([name, labels[i], channel]);
    return { question, size: this.sizes[i]!, draw: (code: number) => draw(code, this.words()) };
  }

  private whole(labels: readonly (readonly string[])[]) {
    const question = JSON.stringify([this.columns, labels, this.law]);
    const join = (codes: readonly number[]) => codes.reduce((joint, code, i) => joint * this.sizes[i]! + code, 0);
    return {
      question,
      size: this.sizes.reduce((a, b) => a * b, 1),
      draw: (joint: number) => join(this.fresh.randomise(this.split(joint))),
    };
  }

  private split(joint: number): number[] {
    return [...this.sizes].reverse().reduce<number[]>((codes, size) => {
      codes.unshift(joint % size);
      joint = Math.floor(joint / size);
      return codes;
    }, []);
  }
}

function readKept(keeper: Keeper): Remembered[] {
  const text = keeper.getItem(KEPT);
  if (text === null) return [];
  try {
    const kept: unknown = JSON.parse(text);
    return Array.isArray(kept) ? kept.filter(isRemembered) : [];
  } catch {
    return [];
  }
}

function isRemembered(entry: unknown): entry is Remembered {
  return (
    typeof entry === "object" && entry !== null && "question" in entry && typeof entry.question === "string" &&
    "sent" in entry && Array.isArray(entry.sent)
  );
}

/** Forget all coins: who answers the same question after this sends a second draw of it, which tells more. */
export function forgetCoins(keeper: Keeper): void {
  keeper.removeItem(KEPT);
}

/** An identifier that only this device knows, so that what is sent twice by accident is counted once. */
export function freshIdentifier(words: Words = systemWords()): string {
  return [words(), words()].map((word) => word.toString(16).padStart(16, "0")).join("");
}
