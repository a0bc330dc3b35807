/* Top-down partitions of rows into classes of at least k: Mondrian (widest attribute, balanced cut) and the cut
 * that lowers the KL cost most. Rows are moved, not pointed at, so that every pass reads memory in order. */
#include "_buffers.h"
#include <math.h>

#define MOST_ATTRIBUTES 1024
#define LOGS 65536
#define MOST_RANKED 4096
#define LEAST_GAIN 1e-9
#define MOST_ROUNDS 16
#define LARGE_PART 4096
#define MOST_PAIRS ((size_t)1 << 20)
enum { STRICT = 0, RELAXED = 1, KL = 2 };

/* An attribute: how many leaves, and, if it is cut along a hierarchy, its labels level by level. */
typedef struct {
    uint32_t leaves;
    int levels;            /* 0: ordered */
    const int32_t *labels; /* levels x leaves */
    const int32_t *under;  /* levels x leaves: leaves under the label of this leaf at this level */
    double weight;
    Py_ssize_t offset; /* into the histograms */
} Attribute;

/* Lines begin..end, and how many rows of the table they stand for. */
typedef struct {
    Py_ssize_t begin, end;
    uint64_t rows;
} Part;

typedef struct {
    double score;
    uint32_t at;
} Scored;

typedef struct {
    uint16_t *rows, *spare_rows; /* n x stride: the attributes, then the sensitive code if there is one */
    uint32_t *ids, *spare_ids;
    uint32_t *times, *spare_times; /* how many rows each line stands for; NULL where lines are rows */
    Py_ssize_t n, stride, cells;
    int attributes, mode, sensitive;
    uint32_t values; /* sensitive values */
    uint64_t k;
    Attribute *attribute;
    uint32_t *left, *right; /* histograms of all attributes */
    uint32_t *place;        /* counting sort */
    uint32_t *pairs;        /* values of one attribute by values of all */
    uint32_t *order;
    double weights; /* their sum */
    double *logs, *ratio;
    Scored *scored;
    Part *parts; /* the pieces of a cut */
    Py_ssize_t n_parts, room;
    PyObject *callback; /* held(counts): whether every piece satisfies the further conditions */
    int failed;
} State;

static inline uint16_t *row(const State *s, Py_ssize_t i) { return s->rows + i * s->stride; }

static inline uint32_t times(const State *s, Py_ssize_t i) { return s->times ? s->times[i] : 1; }

static uint64_t rows_of(const State *s, Py_ssize_t begin, Py_ssize_t end) {
    uint64_t rows = 0;
    for (Py_ssize_t i = begin; i < end; i++) rows += times(s, i);
    return rows;
}

static int lines_stand_for_rows(const State *s) {
    for (Py_ssize_t i = 0; i < s->n; i++)
        if (!s->times[i]) return 0;
    return 1;
}

static inline double xlogx(const State *s, uint32_t c) {
    return c < LOGS ? s->logs[c] : (double)c * log((double)c);
}

static int add_part(State *s, Py_ssize_t begin, Py_ssize_t end, uint64_t rows) {
    if (s->n_parts == s->room) {
        Py_ssize_t room = s->room ? 2 * s->room : 64;
        Part *grown = realloc(s->parts, (size_t)room * sizeof(Part));
        if (!grown) {
            s->failed = 1;
            return -1;
        }
        s->parts = grown;
        s->room = room;
    }
    s->parts[s->n_parts++] = (Part){begin, end, rows};
    return 0;
}

/* Ask the caller whether all pieces hold; pieces are given as counts: size, then one count per sensitive value. */
static int pieces_hold(State *s) {
    if (!s->callback || s->callback == Py_None) return 1;
    Py_ssize_t columns = 1 + (Py_ssize_t)s->values;
    uint32_t *counts = calloc((size_t)(s->n_parts * columns), sizeof(uint32_t));
    if (!counts) {
        s->failed = 1;
        return 0;
    }
    for (Py_ssize_t p = 0; p < s->n_parts; p++) {
        uint32_t *line = counts + p * columns;
        line[0] = (uint32_t)s->parts[p].rows;
        if (s->sensitive)
            for (Py_ssize_t i = s->parts[p].begin; i < s->parts[p].end; i++)
                line[1 + row(s, i)[s->attributes]] += times(s, i);
    }
    PyObject *answer = PyObject_CallFunction(s->callback, "y#", (char *)counts, s->n_parts * columns * 4);
    free(counts);
    if (!answer) {
        s->failed = 2;
        return 0;
    }
    int yes = PyObject_IsTrue(answer);
    Py_DECREF(answer);
    if (yes < 0) s->failed = 2;
    return yes > 0;
}

/* ------------------------------------------------------------------ moving rows */

/* Rows begin..end in the order given (offsets from begin). */
static void reorder(State *s, Py_ssize_t begin, Py_ssize_t end, const uint32_t *order) {
    size_t width = (size_t)s->stride * 2;
    for (Py_ssize_t i = begin; i < end; i++) {
        Py_ssize_t from = begin + order[i - begin];
        memcpy(s->spare_rows + (i - begin) * s->stride, row(s, from), width);
        s->spare_ids[i - begin] = s->ids[from];
        if (s->times) s->spare_times[i - begin] = s->times[from];
    }
    if (s->times) memcpy(s->times + begin, s->spare_times, (size_t)(end - begin) * 4);
    memcpy(row(s, begin), s->spare_rows, width * (size_t)(end - begin));
    memcpy(s->ids + begin, s->spare_ids, (size_t)(end - begin) * 4);
}

/* A stable counting sort of begin..end by key[code] (keys below `keys`), into `order`. Afterwards `place` has where
 * the lines of each key end. */
static void sorted(State *s, Py_ssize_t begin, Py_ssize_t end, int a, const int32_t *key, uint32_t keys,
                   uint32_t *order) {
    memset(s->place, 0, ((size_t)keys + 1) * 4);
    for (Py_ssize_t i = begin; i < end; i++) {
        uint16_t code = row(s, i)[a];
        s->place[(key ? (uint32_t)key[code] : code) + 1]++;
    }
    for (uint32_t j = 0; j < keys; j++) s->place[j + 1] += s->place[j];
    for (Py_ssize_t i = begin; i < end; i++) {
        uint16_t code = row(s, i)[a];
        order[s->place[key ? (uint32_t)key[code] : code]++] = (uint32_t)(i - begin);
    }
}

/* ------------------------------------------------------------------ Mondrian */

typedef struct {
    uint16_t low, high; /* ordered */
    int level;          /* hierarchical: the lowest level at which all rows share a label */
    double width;
} Extent;

static void extents(const State *s, Py_ssize_t begin, Py_ssize_t end, Extent *extent) {
    const uint16_t *first = row(s, begin);
    for (int a = 0; a < s->attributes; a++) extent[a] = (Extent){first[a], first[a], 0, 0.0};
    for (Py_ssize_t i = begin; i < end; i++) {
        const uint16_t *r = row(s, i);
        for (int a = 0; a < s->attributes; a++) {
            if (r[a] < extent[a].low) extent[a].low = r[a];
            if (r[a] > extent[a].high) extent[a].high = r[a];
        }
    }
    for (int a = 0; a < s->attributes; a++) {
        const Attribute *t = s->attribute + a;
        if (extent[a].low == extent[a].high) continue;
        if (!t->levels) {
            extent[a].width = t->weight * (extent[a].high - extent[a].low) / (t->leaves - 1);
            continue;
        }
        int level = 0;
        for (Py_ssize_t i = begin; i < end; i++) {
            uint16_t code = row(s, i)[a];
            while (level < t->levels - 1 &&
                   t->labels[(size_t)level * t->leaves + code] != t->labels[(size_t)level * t->leaves + first[a]])
                level++;
        }
        extent[a].level = level;
        extent[a].width = t->weight * t->under[(size_t)level * t->leaves + first[a]] / t->leaves;
    }
}

/* Cut an ordered attribute in two, as evenly as it goes. Returns whether a cut was made. */
static int cut_ordered(State *s, const Part *part, int a, const Extent *e) {
    Py_ssize_t begin = part->begin, end = part->end;
    uint64_t n = part->rows, half = n / 2, below = 0, best = 0;
    uint32_t last = e->low; /* value before the cut */
    uint32_t *count = s->left + s->attribute[a].offset;
    memset(count + e->low, 0, ((size_t)e->high - e->low + 1) * 4);
    for (Py_ssize_t i = begin; i < end; i++) count[row(s, i)[a]] += times(s, i);
    for (uint32_t v = e->low; v < e->high; v++) {
        below += count[v];
        uint64_t gap = below > half ? below - half : half - below, known = best > half ? best - half : half - best;
        if (!best || gap < known) {
            best = below;
            last = v;
        }
    }
    if (s->mode == RELAXED) best = half; /* equal values may fall on either side */
    if (best < s->k || n - best < s->k) return 0;
    sorted(s, begin, end, a, NULL, (uint32_t)e->high + 1, s->order);
    reorder(s, begin, end, s->order);
    Py_ssize_t cut = begin + (s->mode == RELAXED ? (Py_ssize_t)best : (Py_ssize_t)s->place[last]);
    return !add_part(s, begin, cut, best) && !add_part(s, cut, end, n - best);
}

/* Cut along a hierarchy: one piece for each child that occurs, each of at least k rows. */
static int cut_tree(State *s, const Part *part, int a, const Extent *e) {
    const Attribute *t = s->attribute + a;
    Py_ssize_t begin = part->begin, end = part->end, from = begin;
    if (e->level < 1) return 0; /* nothing below: labels that do not tell its leaves apart */
    const int32_t *label = t->labels + (size_t)(e->level - 1) * t->leaves;
    uint32_t *count = s->left + t->offset;
    memset(count, 0, (size_t)t->leaves * 4);
    for (Py_ssize_t i = begin; i < end; i++) count[label[row(s, i)[a]]] += times(s, i);
    for (uint32_t v = 0; v < t->leaves; v++)
        if (count[v] && count[v] < s->k) return 0;
    sorted(s, begin, end, a, label, t->leaves, s->order);
    reorder(s, begin, end, s->order);
    for (uint32_t v = 0; v < t->leaves; v++) {
        if (!count[v]) continue;
        Py_ssize_t to = begin + (Py_ssize_t)s->place[v];
        if (add_part(s, from, to, count[v])) return 0;
        from = to;
    }
    return 1;
}

static int cut_widest(State *s, const Part *part, Extent *extent) {
    extents(s, part->begin, part->end, extent);
    for (;;) {
        int a = -1;
        for (int b = 0; b < s->attributes; b++)
            if (extent[b].width > 0 && (a < 0 || extent[b].width > extent[a].width)) a = b;
        if (a < 0) return 0;
        s->n_parts = 0;
        int made =
            s->attribute[a].levels ? cut_tree(s, part, a, extent + a) : cut_ordered(s, part, a, extent + a);
        if (s->failed) return 0;
        if (made && pieces_hold(s)) return 1;
        if (s->failed) return 0;
        extent[a].width = 0; /* not this one */
    }
}

/* ------------------------------------------------------------------ least KL cost
 * KL cost of a class of n rows = sum over attributes of n ln n - sum over values of c ln c (paper 4, Eqs. 1, 2).
 * Rows are swept from the right to the left side in the order of one attribute, and every place with k rows on
 * both sides is priced. */
static double sweep(State *s, Py_ssize_t begin, Py_ssize_t end, const uint32_t *order, Py_ssize_t *cut) {
    Py_ssize_t n = end - begin;
    double inner = 0, best = -1;
    memset(s->left, 0, (size_t)s->cells * 4);
    memset(s->right, 0, (size_t)s->cells * 4);
    for (Py_ssize_t i = begin; i < end; i++)
        for (int a = 0; a < s->attributes; a++) s->right[s->attribute[a].offset + row(s, i)[a]]++;
    double whole = 0;
    for (int a = 0; a < s->attributes; a++)
        for (uint32_t v = 0; v < s->attribute[a].leaves; v++)
            whole += s->attribute[a].weight * xlogx(s, s->right[s->attribute[a].offset + v]);
    inner = whole;
    for (Py_ssize_t m = 1; m + (Py_ssize_t)s->k <= n; m++) {
        const uint16_t *r = row(s, begin + order[m - 1]);
        for (int a = 0; a < s->attributes; a++) {
            uint32_t *right = s->right + s->attribute[a].offset + r[a], *left = s->left + s->attribute[a].offset + r[a];
            double moved = xlogx(s, *right - 1) - xlogx(s, *right) + xlogx(s, *left + 1) - xlogx(s, *left);
            inner += s->attribute[a].weight * moved;
            (*right)--;
            (*left)++;
        }
        if (m < (Py_ssize_t)s->k) continue;
        double outer = s->weights * (xlogx(s, (uint32_t)n) - xlogx(s, (uint32_t)m) - xlogx(s, (uint32_t)(n - m)));
        double gain = outer - (whole - inner);
        if (gain > best) {
            best = gain;
            *cut = m;
        }
    }
    return best;
}

/* The same between values only, for large parts: counts of every pair of a value of attribute a (as `key` orders
 * them) and a value of any attribute are taken in one cheap pass, and whole values are moved at once. */
static double sweep_values(State *s, Py_ssize_t begin, Py_ssize_t end, int a, const int32_t *key, uint32_t keys) {
    Py_ssize_t n = end - begin, moved = 0;
    double whole = 0, inner, best = -1;
    memset(s->pairs, 0, (size_t)keys * (size_t)s->cells * 4);
    memset(s->left, 0, (size_t)s->cells * 4);
    memset(s->right, 0, (size_t)s->cells * 4);
    for (Py_ssize_t i = begin; i < end; i++) {
        const uint16_t *r = row(s, i);
        uint32_t *line = s->pairs + (size_t)(key ? (uint32_t)key[r[a]] : r[a]) * (size_t)s->cells;
        for (int b = 0; b < s->attributes; b++) line[s->attribute[b].offset + r[b]]++;
    }
    for (uint32_t j = 0; j < keys; j++)
        for (Py_ssize_t c = 0; c < s->cells; c++) s->right[c] += s->pairs[(size_t)j * (size_t)s->cells + (size_t)c];
    for (int b = 0; b < s->attributes; b++)
        for (uint32_t v = 0; v < s->attribute[b].leaves; v++)
            whole += s->attribute[b].weight * xlogx(s, s->right[s->attribute[b].offset + v]);
    inner = whole;
    for (uint32_t j = 0; j + 1 < keys; j++) {
        const uint32_t *line = s->pairs + (size_t)j * (size_t)s->cells;
        for (int b = 0; b < s->attributes; b++) {
            double change = 0;
            for (uint32_t v = 0; v < s->attribute[b].leaves; v++) {
                Py_ssize_t c = s->attribute[b].offset + v;
                if (!line[c]) continue;
                change += xlogx(s, s->right[c] - line[c]) - xlogx(s, s->right[c]);
                change += xlogx(s, s->left[c] + line[c]) - xlogx(s, s->left[c]);
                s->right[c] -= line[c];
                s->left[c] += line[c];
                if (b == a) moved += line[c];
            }
            inner += s->attribute[b].weight * change;
        }
        if (moved < (Py_ssize_t)s->k || n - moved < (Py_ssize_t)s->k) continue;
        double outer = s->weights * (xlogx(s, (uint32_t)n) - xlogx(s, (uint32_t)moved) - xlogx(s, (uint32_t)(n - moved)));
        double gain = outer - (whole - inner);
        if (gain > best) best = gain;
    }
    return best;
}

/* Values from the most to the least frequent in this part: rank[code]. */
static uint32_t by_frequency(State *s, Py_ssize_t begin, Py_ssize_t end, int a, int32_t *rank) {
    uint32_t leaves = s->attribute[a].leaves, present = 0;
    uint32_t *count = s->left;
    memset(count, 0, (size_t)leaves * 4);
    for (Py_ssize_t i = begin; i < end; i++) count[row(s, i)[a]]++;
    for (uint32_t v = 0; v < leaves; v++) {
        if (!count[v]) continue;
        uint32_t j = present++; /* insertion into a list of codes kept in `right` */
        while (j > 0 && count[s->right[j - 1]] < count[v]) {
            s->right[j] = s->right[j - 1];
            j--;
        }
        s->right[j] = v;
    }
    for (uint32_t j = 0; j < present; j++) rank[s->right[j]] = (int32_t)j;
    return present;
}

/* Sort a part by one attribute: in code order, or from the commonest value down. */
static int in_order(State *s, Py_ssize_t begin, Py_ssize_t end, int a, int frequent, int32_t *rank) {
    uint32_t leaves = s->attribute[a].leaves;
    if (!frequent) {
        sorted(s, begin, end, a, NULL, leaves, s->order);
        return 1;
    }
    if (leaves > MOST_RANKED) return 0;
    uint32_t present = by_frequency(s, begin, end, a, rank);
    if (present < 3) return 0; /* two values have one cut between them */
    sorted(s, begin, end, a, rank, present, s->order);
    return 1;
}

/* Better than any cut by one attribute: order the rows by how much likelier they are on the left side than on the
 * right, sweep again, and repeat while the gain grows. `order` and `cut` are improved in place. */
static int by_score(const void *x, const void *y) {
    const Scored *a = x, *b = y;
    if (a->score != b->score) return a->score < b->score ? 1 : -1;
    return a->at < b->at ? -1 : 1;
}

static double refined(State *s, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t *cut, double gain) {
    Py_ssize_t n = end - begin;
    int rounds = n > LARGE_PART ? 2 : MOST_ROUNDS; /* large parts are cut again anyway */
    for (int round = 0; round < rounds; round++) {
        memset(s->left, 0, (size_t)s->cells * 4);
        memset(s->right, 0, (size_t)s->cells * 4);
        for (Py_ssize_t i = 0; i < n; i++) {
            uint32_t *side = i < *cut ? s->left : s->right;
            const uint16_t *r = row(s, begin + s->order[i]);
            for (int a = 0; a < s->attributes; a++) side[s->attribute[a].offset + r[a]]++;
        }
        for (int a = 0; a < s->attributes; a++)
            for (uint32_t v = 0; v < s->attribute[a].leaves; v++) {
                Py_ssize_t c = s->attribute[a].offset + v;
                s->ratio[c] = s->attribute[a].weight * log((s->left[c] + 0.5) / (s->right[c] + 0.5));
            }
        for (Py_ssize_t i = 0; i < n; i++) {
            const uint16_t *r = row(s, begin + i);
            double score = 0;
            for (int a = 0; a < s->attributes; a++) score += s->ratio[s->attribute[a].offset + r[a]];
            s->scored[i] = (Scored){score, (uint32_t)i};
        }
        qsort(s->scored, (size_t)n, sizeof(Scored), by_score);
        for (Py_ssize_t i = 0; i < n; i++) s->spare_ids[i] = s->scored[i].at;
        Py_ssize_t at = 0;
        double better = sweep(s, begin, end, s->spare_ids, &at);
        if (better <= gain + LEAST_GAIN) break;
        gain = better;
        *cut = at;
        memcpy(s->order, s->spare_ids, (size_t)n * 4);
    }
    return gain;
}

/* The gain of the best cut along one attribute, roughly (between values) or exactly (anywhere). */
static double gain_of(State *s, Py_ssize_t begin, Py_ssize_t end, int a, int frequent, int32_t *rank, int rough) {
    uint32_t leaves = s->attribute[a].leaves, present = leaves;
    Py_ssize_t cut = 0;
    if (!rough || (size_t)leaves * (size_t)s->cells > MOST_PAIRS)
        return in_order(s, begin, end, a, frequent, rank) ? sweep(s, begin, end, s->order, &cut) : 0;
    if (frequent) {
        if (leaves > MOST_RANKED) return 0;
        present = by_frequency(s, begin, end, a, rank);
        if (present < 3) return 0;
    }
    return sweep_values(s, begin, end, a, frequent ? rank : NULL, present);
}

static int cut_cheapest(State *s, Py_ssize_t begin, Py_ssize_t end, Extent *extent, double *gain, int32_t *rank) {
    Py_ssize_t n = end - begin, cut = 0;
    if ((uint64_t)n < 2 * s->k) return 0;
    extents(s, begin, end, extent);
    for (int rough = n > LARGE_PART; rough >= 0; rough--) { /* exactly only where no cut between values will do */
        int found = 0;
        for (int c = 0; c < 2 * s->attributes; c++) {
            gain[c] = 0;
            if (extent[c / 2].low == extent[c / 2].high) continue;
            gain[c] = gain_of(s, begin, end, c / 2, c & 1, rank, rough);
            found |= gain[c] > LEAST_GAIN;
        }
        if (found) break;
    }
    for (;;) {
        int best = 0;
        for (int c = 1; c < 2 * s->attributes; c++)
            if (gain[c] > gain[best]) best = c;
        if (gain[best] <= LEAST_GAIN) return 0;
        in_order(s, begin, end, best / 2, best & 1, rank);
        refined(s, begin, end, &cut, sweep(s, begin, end, s->order, &cut));
        reorder(s, begin, end, s->order);
        s->n_parts = 0;
        if (add_part(s, begin, begin + cut, (uint64_t)cut) || add_part(s, begin + cut, end, (uint64_t)(n - cut)))
            return 0;
        if (pieces_hold(s)) return 1;
        if (s->failed) return 0;
        gain[best] = 0;
    }
}

/* ------------------------------------------------------------------ the run */

static int64_t run(State *s, uint32_t *class_of, Extent *extent, double *gain, int32_t *rank) {
    Py_ssize_t room = 64, depth = 1;
    Part *stack = malloc((size_t)room * sizeof(Part));
    int64_t classes = 0;
    if (!stack) return -1;
    stack[0] = (Part){0, s->n, rows_of(s, 0, s->n)};
    while (depth) {
        Part part = stack[--depth];
        int made = s->mode == KL ? cut_cheapest(s, part.begin, part.end, extent, gain, rank)
                                 : cut_widest(s, &part, extent);
        if (s->failed) break;
        if (!made) {
            for (Py_ssize_t i = part.begin; i < part.end; i++) class_of[s->ids[i]] = (uint32_t)classes;
            classes++;
            continue;
        }
        if (depth + s->n_parts > room) {
            room = 2 * (depth + s->n_parts);
            Part *grown = realloc(stack, (size_t)room * sizeof(Part));
            if (!grown) {
                s->failed = 1;
                break;
            }
            stack = grown;
        }
        /* the first piece on top: classes are numbered in the order of the cuts */
        for (Py_ssize_t p = s->n_parts; p-- > 0;) stack[depth++] = s->parts[p];
    }
    free(stack);
    return s->failed ? -1 : classes;
}

static int read_attributes(State *s, const int64_t *shape, const int32_t *labels, Py_ssize_t n_labels,
                           const double *weights, int32_t **under) {
    Py_ssize_t at = 0, offset = 0;
    *under = malloc((size_t)(n_labels ? n_labels : 1) * sizeof(int32_t));
    if (!*under) return -1;
    for (int a = 0; a < s->attributes; a++) {
        int64_t leaves = shape[2 * a], levels = shape[2 * a + 1];
        if (leaves < 1 || leaves > 65536 || levels < 0 || levels > 1000 || at + leaves * levels > n_labels) return -1;
        s->attribute[a] = (Attribute){(uint32_t)leaves, (int)levels, labels + at, *under + at, weights[a], offset};
        for (int64_t j = 0; j < leaves * levels; j++)
            if (labels[at + j] < 0 || labels[at + j] >= leaves) return -1;
        for (int64_t level = 0; level < levels; level++) {
            const int32_t *line = labels + at + level * leaves;
            memset(s->left, 0, (size_t)leaves * 4);
            for (int64_t v = 0; v < leaves; v++) s->left[line[v]]++;
            for (int64_t v = 0; v < leaves; v++) (*under)[at + level * leaves + v] = (int32_t)s->left[line[v]];
        }
        s->weights += weights[a];
        at += leaves * levels;
        offset += leaves;
    }
    s->cells = offset;
    return 0;
}

static int rows_fit(const State *s) {
    for (Py_ssize_t i = 0; i < s->n; i++) {
        const uint16_t *r = row(s, i);
        for (int a = 0; a < s->attributes; a++)
            if (r[a] >= s->attribute[a].leaves) return 0;
        if (s->sensitive && r[s->attributes] >= s->values) return 0;
    }
    return 1;
}

static PyObject *partition(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *rows_o, *times_o, *shape_o, *labels_o, *weights_o, *out_o, *callback;
    Py_ssize_t values;
    unsigned long long k;
    int mode;
    if (!PyArg_ParseTuple(args, "OOOOOKinOO", &rows_o, &times_o, &shape_o, &labels_o, &weights_o, &k, &mode, &values,
                          &callback, &out_o))
        return NULL;
    Buf rows = {.held = 0}, times_b = {.held = 0}, shape = {.held = 0}, labels = {.held = 0}, weights = {.held = 0}, out = {.held = 0};
    State s = {0};
    PyObject *result = NULL;
    int32_t *under = NULL, *rank = NULL;
    Extent *extent = NULL;
    double *gain = NULL;
    int64_t classes = -1;
    if (take(rows_o, &rows, 2, 1, "rows") || take(shape_o, &shape, 16, 0, "shape") ||
        take(labels_o, &labels, 4, 0, "labels") || take(weights_o, &weights, 8, 0, "weights") ||
        take(out_o, &out, 4, 1, "class_of") || (times_o != Py_None && take(times_o, &times_b, 4, 1, "times")))
        goto done;
    s.attributes = (int)(shape.view.len / 16);
    s.sensitive = values > 0;
    s.values = (uint32_t)values;
    s.stride = s.attributes + s.sensitive;
    s.n = out.view.len / 4;
    s.k = k ? k : 1;
    if (times_o != Py_None) s.times = times_b.view.buf;
    if (s.times && (mode != STRICT || times_b.view.len / 4 != s.n || !lines_stand_for_rows(&s) ||
                    rows_of(&s, 0, s.n) > UINT32_MAX)) {
        PyErr_SetString(PyExc_ValueError, "lines must stand for rows, which are cut between values and not 2^32");
        goto done;
    }
    uint64_t all = rows_of(&s, 0, s.n);
    if (s.k > all) s.k = all + 1; /* no cut reaches it, and twice of it is a number still */
    s.mode = mode;
    s.rows = rows.view.buf;
    s.callback = callback;
    if (s.attributes < 1 || s.attributes > MOST_ATTRIBUTES || weights.view.len / 8 != s.attributes || values < 0 ||
        values > 65536 || rows.view.len / 2 != s.n * s.stride || (uint64_t)s.n > UINT32_MAX || mode < 0 || mode > KL) {
        PyErr_SetString(PyExc_ValueError, "rows must hold a 16-bit code for each attribute");
        goto done;
    }
    s.attribute = calloc((size_t)s.attributes, sizeof(Attribute));
    size_t cells = 65537;
    for (int a = 0; a < s.attributes; a++) {
        int64_t leaves = ((const int64_t *)shape.view.buf)[2 * a];
        cells += leaves > 0 && leaves <= 65536 ? (size_t)leaves : 0;
    }
    size_t n = (size_t)(s.n ? s.n : 1);
    s.left = calloc(cells, 4);
    s.right = calloc(cells, 4);
    s.place = calloc(65538, 4);
    s.order = malloc(n * 4);
    s.pairs = malloc(mode == KL ? MOST_PAIRS * 4 : 4);
    gain = malloc((size_t)s.attributes * 2 * sizeof(double));
    s.ids = malloc(n * 4);
    s.spare_ids = malloc(n * 4);
    s.spare_times = malloc(s.times ? n * 4 : 4);
    s.spare_rows = malloc(n * (size_t)s.stride * 2);
    s.logs = malloc(LOGS * sizeof(double));
    s.ratio = malloc(cells * sizeof(double));
    s.scored = malloc((mode == KL ? n : 1) * sizeof(Scored));
    rank = calloc(65536, sizeof(int32_t));
    extent = calloc((size_t)s.attributes, sizeof(Extent));
    if (!s.attribute || !s.left || !s.right || !s.place || !s.order || !s.pairs || !gain || !s.ids || !s.spare_ids ||
        !s.spare_times || !s.spare_rows || !s.logs || !s.ratio || !s.scored || !rank || !extent) {
        PyErr_NoMemory();
        goto done;
    }
    if (read_attributes(&s, shape.view.buf, labels.view.buf, labels.view.len / 4, weights.view.buf, &under) ||
        !rows_fit(&s)) {
        PyErr_SetString(PyExc_ValueError, "codes and labels must lie below the number of leaves");
        goto done;
    }
    for (Py_ssize_t i = 0; i < s.n; i++) s.ids[i] = (uint32_t)i;
    s.logs[0] = 0;
    for (int i = 1; i < LOGS; i++) s.logs[i] = i * log((double)i);
    if (!s.n) {
        classes = 0;
    } else if (callback != Py_None) {
        classes = run(&s, out.view.buf, extent, gain, rank);
    } else {
        Py_BEGIN_ALLOW_THREADS
        classes = run(&s, out.view.buf, extent, gain, rank);
        Py_END_ALLOW_THREADS
    }
    if (classes >= 0) result = PyLong_FromLongLong(classes);
    else if (s.failed != 2) PyErr_NoMemory();
done:
    free(s.attribute); free(s.left); free(s.right); free(s.place); free(s.order); free(s.pairs); free(gain);
    free(s.ids); free(s.spare_ids); free(s.spare_times); free(s.spare_rows); free(s.logs); free(s.ratio); free(s.scored); free(s.parts);
    free(under); free(rank); free(extent);
    drop(&rows); drop(&times_b); drop(&shape); drop(&labels); drop(&weights); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"partition", partition, METH_VARARGS,
     "partition(rows, times, shape, labels, weights, k, mode, values, held, class_of): number of classes. Reorders "
     "rows, and times with them."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_partition",
                                        "Hot loops of partitioning rows into classes.", 0, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__partition(void) { return PyModule_Create(&definition); }
