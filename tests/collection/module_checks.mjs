// What the module is tried for in Node: `node module_checks.mjs CHECK MODULE VECTORS` prints one JSON object.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";

globalThis.crypto ??= webcrypto; // as browsers and Node 20 have it; Node 18 does not

const [, , check, module, vectors] = process.argv;
const { RememberingRandomiser, forgetCoins, randomiserOf } = await import(module);

function followsVectors() {
  const stored = JSON.parse(readFileSync(vectors, "utf8"));
  let wrong = 0;
  for (const one of stored.cases) {
    const { law, columns } = stored.laws[one.law];
    const words = one.words.map(BigInt);
    const drawn = randomiserOf(law, columns, () => words.shift()).randomise(one.codes);
    if (JSON.stringify(drawn) !== JSON.stringify(one.published) || words.length > 0) wrong++;
  }
  console.log(JSON.stringify({ cases: stored.cases.length, wrong }));
}

function refusesWhatIsNone() {
  const laws = [
    [{coin: "attribute", channels: {}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "retention", size: 0, step: "1"}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "retention", size: 2.5, step: "1"}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "retention", size: 3, step: String(2n ** 61n)}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "retention", size: 3, step: "-1"}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "retention", size: 3, step: 0.5}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "dense", weights: [["1", "2"], ["1", "2"]]}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "dense", weights: [[String(2n ** 62n)], []]}}}, ["a"]],
    [{coin: "attribute", channels: {a: {kind: "other", size: 3}}}, ["a"]],
    [{coin: "record", sizes: {a: 2}, bound: String(2n ** 62n + 1n)}, ["a"]],
    [{coin: "record", sizes: {a: 2}, bound: "1"}, ["a", "a"]],
    [{coin: "record", sizes: {a: 2}, bound: "1"}, ["toString"]],
    [{coin: "record", sizes: {a: 2}, bound: "1"}, []],
  ];
  const good = randomiserOf({coin: "record", sizes: {a: 2}, bound: "1"}, ["a"]);
  const attempts = laws.map(([law, columns]) => () => randomiserOf(law, columns));
  for (const codes of [[2], [-1], [0.5], [NaN], ["0"], [], [0, 0]]) attempts.push(() => good.randomise(codes));
  console.log(JSON.stringify(attempts.map((attempt) => {
    try { attempt(); return "accepted"; } catch (error) { return error.constructor.name; }
  })));
}

function remembers() {
  const kept = new Map();
  const keeper = { getItem: (k) => kept.get(k) ?? null, setItem: (k, v) => kept.set(k, v), removeItem: (k) => kept.delete(k) };
  const HALF = String(2n ** 62n / 200n);
  const laws = {
    attribute: {coin: "attribute", channels: {a: {kind: "retention", size: 100, step: HALF}, b: {kind: "redrawn", size: 90}}},
    record: {coin: "record", sizes: {a: 10, b: 9}, bound: String(2n ** 61n)},
  };
  const labels = {attribute: [[...Array(99).keys()].map(String), [...Array(89).keys()].map(String)], record: [["x"], ["y"]]};
  const told = {};
  for (const coin of ["attribute", "record"]) {
    const again = (law = laws[coin], own = labels[coin], by = keeper) => new RememberingRandomiser(law, ["a", "b"], own, by);
    const size = again().sizes;
    const all = [...Array(size[0]).keys()].map((code) => [code, code % size[1]]);
    const draw = (one) => JSON.stringify(all.map((codes) => one.randomise(codes)));
    const first = draw(again());
    const same = draw(again()) === first;
    const stored = [...kept.values()].join();
    const other = draw(again(laws[coin], coin === "record" ? [["x"], ["z"]] : [labels[coin][0].slice(1), labels[coin][1]])) === first;
    const still = draw(again()) === first;
    forgetCoins(keeper);
    const forgotten = draw(again()) === first;
    keeper.setItem("pramana coins", '[{"question": "x"}, 5, {"question": 1, "sent": []}]');
    const damaged = again().remembers;
    const refusing = { getItem: () => { throw new Error("no"); }, setItem: () => { throw new Error("no"); }, removeItem: () => {} };
    told[coin] = { same, other, still, forgotten, damaged, none: again(laws[coin], labels[coin], null).remembers,
      refusing: again(laws[coin], labels[coin], refusing).remembers, stored: stored.length > 0 };
  }
  const large = { coin: "record", sizes: {a: 100, b: 100}, bound: "1" };
  told.large = new RememberingRandomiser(large, ["a", "b"], [[], []], keeper).remembers;
  console.log(JSON.stringify(told));
}

({ followsVectors, refusesWhatIsNone, remembers })[check]();
