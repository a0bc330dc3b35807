/* The hot loops of releases at many levels. Pure functions of their buffers, no state, interpreter lock
 * released, integers only: no float ever decides a coin. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(x) __builtin_bswap64(x)
#else
#define LITTLE(x) (x)
#endif

typedef unsigned __int128 wide;

/* ------------------------------------------------------------------ buffers */

#define MOST_BUFFERS 8

typedef struct {
    Py_buffer view[MOST_BUFFERS];
    int held;
} Buffers;

static void *take(Buffers *all, PyObject *object, Py_ssize_t item, int writable, Py_ssize_t *count) {
    Py_buffer *view = &all->view[all->held];
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0) return NULL;
    all->held++;
    if (item && view->itemsize != item) {
        PyErr_Format(PyExc_ValueError, "items must have %zd bytes, got %zd", item, view->itemsize);
        return NULL;
    }
    if (!item && view->itemsize != 1 && view->itemsize != 2 && view->itemsize != 4) {
        PyErr_SetString(PyExc_ValueError, "codes must be unsigned integers of 1, 2 or 4 bytes");
        return NULL;
    }
    if (count) *count = view->len / view->itemsize;
    /* an empty buffer may be NULL, which here means failure */
    return view->buf ? view->buf : (void *)all;
}

static PyObject *release(Buffers *all, PyObject *result) {
    while (all->held) PyBuffer_Release(&all->view[--all->held]);
    return result;
}

static PyObject *wrong(Buffers *all, const char *message) {
    PyErr_SetString(PyExc_ValueError, message);
    return release(all, NULL);
}

/* Uniform on 0..range-1, exactly, from one uniform word; 0 where the word must be thrown away. A word w gives
 * the upper half of w*range; the 2^64 mod range words that would tip the balance are those whose lower half
 * is smallest (Lemire 2019, "Fast random integer generation in an interval"). */
static inline int uniform(uint64_t word, uint64_t range, uint64_t *value) {
    wide product = (wide)word * range;
    uint64_t low = (uint64_t)product;
    if (__builtin_expect(low < range, 0) && low < (0 - range) % range) return 0;
    *value = (uint64_t)(product >> 64);
    return 1;
}

/* ------------------------------------------------------------------ the chain of events
 * Row rows[i] stands at places[i]; its next event is uniform below that. While events stay at or above
 * `bound` they count, and the row goes on with its next word; below, the row is done. Rows that are still
 * going after both words of their block move to the front. */
static Py_ssize_t advance(const uint64_t *blocks, uint32_t *rows, uint64_t *places, uint16_t *counts,
                          Py_ssize_t alive, uint64_t bound, int *overflow) {
    Py_ssize_t left = 0;
    for (Py_ssize_t i = 0; i < alive; i++) {
        uint32_t row = rows[i];
        uint64_t place = places[i], next;
        uint16_t count = counts[row];
        int going = 1;
        for (int half = 0; half < 2 && going; half++) {
            if (!uniform(LITTLE(blocks[2 * i + half]), place, &next)) continue;
            going = next >= bound;
            count = (uint16_t)(count + going);
            place = next;
        }
        *overflow |= count < counts[row];
        counts[row] = count;
        rows[left] = row;
        places[left] = place;
        left += going;
    }
    return left;
}

static PyObject *py_advance(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *blocks_o, *rows_o, *places_o, *counts_o;
    unsigned long long bound;
    Py_ssize_t alive;
    if (!PyArg_ParseTuple(args, "OOOOnK", &blocks_o, &rows_o, &places_o, &counts_o, &alive, &bound)) return NULL;
    Buffers all = {.held = 0};
    Py_ssize_t words, rows_n, places_n, n;
    uint64_t *blocks = take(&all, blocks_o, 8, 0, &words);
    uint32_t *rows = blocks ? take(&all, rows_o, 4, 1, &rows_n) : NULL;
    uint64_t *places = rows ? take(&all, places_o, 8, 1, &places_n) : NULL;
    uint16_t *counts = places ? take(&all, counts_o, 2, 1, &n) : NULL;
    if (!counts) return release(&all, NULL);
    if (alive < 0 || alive > rows_n || alive > places_n || words != 2 * alive)
        return wrong(&all, "rows and places must have room for the alive rows, blocks two words for each");
    if (bound == 0) return wrong(&all, "bound must be positive");
    for (Py_ssize_t i = 0; i < alive; i++)
        if (rows[i] >= n || places[i] == 0) return wrong(&all, "rows must lie in counts, places must be positive");
    int overflow = 0;
    Py_ssize_t left;
    Py_BEGIN_ALLOW_THREADS
    left = advance(blocks, rows, places, counts, alive, bound, &overflow);
    Py_END_ALLOW_THREADS
    if (overflow) return wrong(&all, "a row has more events than can be counted");
    return release(&all, PyLong_FromSsize_t(left));
}

/* ------------------------------------------------------------------ marks
 * Uniform: from the first of the two words that is not thrown away. Rows that lost both move to the front. */
#define UNIFORM(T)                                                                                          \
    static Py_ssize_t uniform_##T(const uint64_t *blocks, uint32_t *rows, T *out, Py_ssize_t m, uint64_t size) { \
        Py_ssize_t left = 0;                                                                                \
        uint64_t value = 0;                                                                                 \
        for (Py_ssize_t i = 0; i < m; i++) {                                                                \
            uint32_t row = rows[i];                                                                         \
            if (uniform(LITTLE(blocks[2 * i]), size, &value) ||                                             \
                uniform(LITTLE(blocks[2 * i + 1]), size, &value))                                           \
                out[row] = (T)value;                                                                        \
            else                                                                                            \
                rows[left++] = row;                                                                         \
        }                                                                                                   \
        return left;                                                                                        \
    }
UNIFORM(uint8_t)
UNIFORM(uint16_t)
UNIFORM(uint32_t)

/* Weighted: one row of an alias table (randomness/_kernels.c) from the upper 62 bits of the first word. */
#define WEIGHTED(T)                                                                                       \
    static void weighted_##T(const uint64_t *blocks, const uint32_t *rows, T *out, Py_ssize_t m,          \
                             const uint64_t *table, int bits) {                                           \
        const uint64_t mask = ((uint64_t)1 << (62 - bits)) - 1, other = ((uint64_t)1 << bits) - 1;        \
        for (Py_ssize_t i = 0; i < m; i++) {                                                              \
            uint64_t r = LITTLE(blocks[2 * i]) >> 2, slot = r >> (62 - bits), word = table[slot];         \
            out[rows[i]] = (T)((r & mask) < (word >> bits) ? slot : word & other);                        \
        }                                                                                                 \
    }
WEIGHTED(uint8_t)
WEIGHTED(uint16_t)
WEIGHTED(uint32_t)

static int rows_within(const uint32_t *rows, Py_ssize_t m, Py_ssize_t n) {
    uint32_t largest = 0;
    for (Py_ssize_t i = 0; i < m; i++) largest = rows[i] > largest ? rows[i] : largest;
    return m == 0 || (Py_ssize_t)largest < n;
}

static PyObject *py_uniform(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *blocks_o, *rows_o, *out_o;
    unsigned long long size;
    if (!PyArg_ParseTuple(args, "OOOK", &blocks_o, &rows_o, &out_o, &size)) return NULL;
    Buffers all = {.held = 0};
    Py_ssize_t words, m, n;
    uint64_t *blocks = take(&all, blocks_o, 8, 0, &words);
    uint32_t *rows = blocks ? take(&all, rows_o, 4, 1, &m) : NULL;
    void *out = rows ? take(&all, out_o, 0, 1, &n) : NULL;
    if (!out) return release(&all, NULL);
    if (words != 2 * m || !rows_within(rows, m, n)) return wrong(&all, "blocks must hold two words for each row");
    if (size == 0) return wrong(&all, "size must be positive");
    Py_ssize_t left = 0, width = all.view[2].itemsize;
    Py_BEGIN_ALLOW_THREADS
    if (width == 1) left = uniform_uint8_t(blocks, rows, out, m, size);
    else if (width == 2) left = uniform_uint16_t(blocks, rows, out, m, size);
    else left = uniform_uint32_t(blocks, rows, out, m, size);
    Py_END_ALLOW_THREADS
    return release(&all, PyLong_FromSsize_t(left));
}

static PyObject *py_weighted(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *blocks_o, *rows_o, *out_o, *table_o;
    int bits;
    if (!PyArg_ParseTuple(args, "OOOOi", &blocks_o, &rows_o, &out_o, &table_o, &bits)) return NULL;
    Buffers all = {.held = 0};
    Py_ssize_t words, m, n, slots;
    uint64_t *blocks = take(&all, blocks_o, 8, 0, &words);
    uint32_t *rows = blocks ? take(&all, rows_o, 4, 0, &m) : NULL;
    void *out = rows ? take(&all, out_o, 0, 1, &n) : NULL;
    uint64_t *table = out ? take(&all, table_o, 8, 0, &slots) : NULL;
    if (!table) return release(&all, NULL);
    if (words != 2 * m || !rows_within(rows, m, n)) return wrong(&all, "blocks must hold two words for each row");
    if (bits < 0 || bits > 31 || slots != (Py_ssize_t)1 << bits) return wrong(&all, "the table must have 2^bits slots");
    Py_ssize_t width = all.view[2].itemsize;
    Py_BEGIN_ALLOW_THREADS
    if (width == 1) weighted_uint8_t(blocks, rows, out, m, table, bits);
    else if (width == 2) weighted_uint16_t(blocks, rows, out, m, table, bits);
    else weighted_uint32_t(blocks, rows, out, m, table, bits);
    Py_END_ALLOW_THREADS
    return release(&all, Py_NewRef(Py_None));
}

/* ------------------------------------------------------------------ history(t) in columns
 * Row i has counts[i] entries, in descending order of level; entry = (number of the level, value). The rows'
 * entries follow each other. steps[number] is the level. The version at a level is the value of the last
 * entry that is not below it. */
#define LOOK_UP(T)                                                                                           \
    static int look_up_##T(const uint16_t *counts, Py_ssize_t n, const uint32_t *numbers, const T *values,   \
                           const uint64_t *steps, uint64_t level, T *out) {                                  \
        Py_ssize_t at = 0;                                                                                   \
        uint64_t missing = 0;                                                                                \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                 \
            Py_ssize_t end = at + counts[i], j = at;                                                         \
            while (j < end && steps[numbers[j]] >= level) j++;                                               \
            missing |= j == at;                                                                              \
            out[i] = j == at ? 0 : values[j - 1];                                                            \
            at = end;                                                                                        \
        }                                                                                                    \
        return missing != 0;                                                                                 \
    }
LOOK_UP(uint8_t)
LOOK_UP(uint16_t)
LOOK_UP(uint32_t)

/* Corrected update (theory/levels.md): an entry at the new level iff it is the top or Y differs from the
 * version above; an entry at the next lower issued level iff its version differs from Y. */
#define INSERT(T)                                                                                             \
    static Py_ssize_t insert_##T(const uint16_t *counts, Py_ssize_t n, const uint32_t *numbers,               \
                                 const T *values, const uint64_t *steps, uint32_t fresh, const T *version,    \
                                 int has_below, uint32_t below, const T *lower, uint16_t *counts_out,         \
                                 uint32_t *numbers_out, T *values_out) {                                      \
        Py_ssize_t at = 0, to = 0;                                                                            \
        uint64_t level = steps[fresh];                                                                        \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                  \
            Py_ssize_t end = at + counts[i], start = to;                                                      \
            for (; at < end && steps[numbers[at]] > level; at++, to++) {                                      \
                numbers_out[to] = numbers[at];                                                                \
                values_out[to] = values[at];                                                                  \
            }                                                                                                 \
            if (to == start || values_out[to - 1] != version[i]) {                                            \
                numbers_out[to] = fresh;                                                                      \
                values_out[to++] = version[i];                                                                \
            }                                                                                                 \
            if (has_below) {                                                                                  \
                at += at < end && numbers[at] == below;                                                       \
                if (lower[i] != version[i]) {                                                                 \
                    numbers_out[to] = below;                                                                  \
                    values_out[to++] = lower[i];                                                              \
                }                                                                                             \
            }                                                                                                 \
            for (; at < end; at++, to++) {                                                                    \
                numbers_out[to] = numbers[at];                                                                \
                values_out[to] = values[at];                                                                  \
            }                                                                                                 \
            counts_out[i] = (uint16_t)(to - start);                                                           \
        }                                                                                                     \
        return to;                                                                                            \
    }
INSERT(uint8_t)
INSERT(uint16_t)
INSERT(uint32_t)

/* Whether the columns fit together: entry counts add up, numbers name known levels. */
static int fits(const uint16_t *counts, Py_ssize_t n, const uint32_t *numbers, Py_ssize_t entries,
                Py_ssize_t levels, uint16_t most) {
    Py_ssize_t total = 0;
    uint32_t largest = 0;
    uint16_t longest = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        total += counts[i];
        longest = counts[i] > longest ? counts[i] : longest;
    }
    for (Py_ssize_t j = 0; j < entries; j++) largest = numbers[j] > largest ? numbers[j] : largest;
    return total == entries && (entries == 0 || (Py_ssize_t)largest < levels) && longest <= most;
}

static PyObject *py_look_up(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *counts_o, *numbers_o, *values_o, *steps_o, *out_o;
    unsigned long long level;
    if (!PyArg_ParseTuple(args, "OOOOKO", &counts_o, &numbers_o, &values_o, &steps_o, &level, &out_o)) return NULL;
    Buffers all = {.held = 0};
    Py_ssize_t n, entries, values_n, levels, out_n;
    uint16_t *counts = take(&all, counts_o, 2, 0, &n);
    uint32_t *numbers = counts ? take(&all, numbers_o, 4, 0, &entries) : NULL;
    void *values = numbers ? take(&all, values_o, 0, 0, &values_n) : NULL;
    uint64_t *steps = values ? take(&all, steps_o, 8, 0, &levels) : NULL;
    void *out = steps ? take(&all, out_o, 0, 1, &out_n) : NULL;
    if (!out) return release(&all, NULL);
    Py_ssize_t width = all.view[2].itemsize;
    if (out_n != n || values_n != entries || all.view[4].itemsize != width ||
        !fits(counts, n, numbers, entries, levels, UINT16_MAX))
        return wrong(&all, "the columns of the history must fit together");
    int missing = 0;
    Py_BEGIN_ALLOW_THREADS
    if (width == 1) missing = look_up_uint8_t(counts, n, numbers, values, steps, level, out);
    else if (width == 2) missing = look_up_uint16_t(counts, n, numbers, values, steps, level, out);
    else missing = look_up_uint32_t(counts, n, numbers, values, steps, level, out);
    Py_END_ALLOW_THREADS
    if (missing) return wrong(&all, "no version has been issued at or above this level");
    return release(&all, Py_NewRef(Py_None));
}

static PyObject *py_insert(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *o[8];
    unsigned int fresh, below;
    int has_below;
    PyObject *steps_o;
    if (!PyArg_ParseTuple(args, "OOOOIOpIOOOO", &o[0], &o[1], &o[2], &steps_o, &fresh, &o[3], &has_below, &below,
                          &o[4], &o[5], &o[6], &o[7]))
        return NULL;
    static const Py_ssize_t item[8] = {2, 4, 0, 0, 0, 2, 4, 0};
    Buffers all = {.held = 0}, table = {.held = 0};
    void *b[8];
    Py_ssize_t c[8], levels;
    uint64_t *steps = take(&table, steps_o, 8, 0, &levels);
    if (!steps) return release(&table, NULL);
    for (int i = 0; i < 8; i++)
        if (!(b[i] = take(&all, o[i], item[i], i >= 5, &c[i]))) {
            release(&table, NULL);
            return release(&all, NULL);
        }
    Py_ssize_t n = c[0], width = all.view[2].itemsize, to = 0;
    int ok = c[2] == c[1] && c[3] == n && (!has_below || c[4] == n) && c[5] == n && c[6] >= c[1] + 2 * n &&
             c[7] >= c[1] + 2 * n && all.view[3].itemsize == width && all.view[4].itemsize == width &&
             all.view[7].itemsize == width && fresh < levels && (!has_below || below < levels) &&
             fits(b[0], n, b[1], c[1], levels, UINT16_MAX - 2);
    if (ok) {
        Py_BEGIN_ALLOW_THREADS
#define CALL(T) to = insert_##T(b[0], n, b[1], b[2], steps, fresh, b[3], has_below, below, b[4], b[5], b[6], b[7])
        if (width == 1) CALL(uint8_t);
        else if (width == 2) CALL(uint16_t);
        else CALL(uint32_t);
#undef CALL
        Py_END_ALLOW_THREADS
    }
    release(&table, NULL);
    if (!ok) return wrong(&all, "the columns of the history must fit together");
    return release(&all, PyLong_FromSsize_t(to));
}

static PyMethodDef methods[] = {
    {"advance", py_advance, METH_VARARGS,
     "advance(blocks, rows, places, counts, alive, bound): the rows' next events; how many are still going."},
    {"uniform", py_uniform, METH_VARARGS, "uniform(blocks, rows, out, size): exact marks; how many must draw again."},
    {"weighted", py_weighted, METH_VARARGS, "weighted(blocks, rows, out, table, bits): marks from an alias table."},
    {"look_up", py_look_up, METH_VARARGS,
     "look_up(counts, numbers, values, steps, level, out): the version at an issued level."},
    {"insert", py_insert, METH_VARARGS,
     "insert(counts, numbers, values, steps, fresh, version, has_below, below, lower, counts_out, numbers_out, "
     "values_out): the history with one more level; how many entries it has."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_levels", "Hot loops of releases at many levels.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__levels(void) { return PyModule_Create(&definition); }
