/* The samplers' hot loops. Every function is a pure function of its buffers, holds no state, releases the
 * interpreter lock, and decides by integer comparison alone: no float ever decides a coin.
 *
 * A keystream word is 64 bits; its upper 62 bits are the uniform integer the laws are stated in (ONE = 2^62
 * in mechanisms/channel.py). 62 and not 64, so that the certain event, 2^62 itself, fits a machine word. */
#include "_buffers.h"

#define DROP 2
#define BITS 62
#define AHEAD 24 /* draws between asking for a far entry and using it */

typedef unsigned __int128 wide;

static inline uint64_t high(uint64_t a, uint64_t b) { return (uint64_t)(((wide)a * b) >> 64); }

/* ------------------------------------------------------------------ retention
 * Replaced when the 62-bit integer r lies below size*step; then r/step is the new value, each with exactly
 * `step` chances out of 2^62. The quotient comes from a precomputed reciprocal, floor(2^64/step), which is
 * at most one too small for r < 2^64: one comparison corrects it. */
#define RETAIN(T)                                                                                   \
    static void retain_##T(const uint64_t *words, const T *in, T *out, Py_ssize_t n, uint64_t step, \
                           uint64_t bound, uint64_t reciprocal) {                                   \
        for (Py_ssize_t i = 0; i < n; i++) {                                                        \
            uint64_t r = LITTLE(words[i]) >> DROP;                                                  \
            uint64_t j = high(r, reciprocal);                                                       \
            j += (r - j * step) >= step;                                                            \
            T kept = (T) - (T)(r >= bound); /* a mask and no branch: a coin cannot be predicted */  \
            out[i] = (T)((T)j ^ (((T)j ^ in[i]) & kept));                                           \
        }                                                                                           \
    }
RETAIN(uint8_t)
RETAIN(uint16_t)
RETAIN(uint32_t)

/* One coin for the whole record: replaced where the row's coin lies below `bound`; the new value of this
 * attribute is floor(w*size/2^64), whose exact counts the mechanism accounts for. */
#define JOINT(T)                                                                                    \
    static void joint_##T(const uint64_t *coins, const uint64_t *words, const T *in, T *out,        \
                          Py_ssize_t n, uint64_t bound, uint64_t size) {                            \
        for (Py_ssize_t i = 0; i < n; i++) {                                                        \
            uint64_t r = LITTLE(coins[i]) >> DROP;                                                  \
            T fresh = (T)high(LITTLE(words[i]), size);                                              \
            T kept = (T) - (T)(r >= bound);                                                         \
            out[i] = (T)(fresh ^ ((fresh ^ in[i]) & kept));                                         \
        }                                                                                           \
    }
JOINT(uint8_t)
JOINT(uint16_t)
JOINT(uint32_t)

/* ------------------------------------------------------------------ dense matrices, by alias tables
 * A row of the matrix is 2^bits slots of equal capacity 2^(62-bits). A slot is one word: the upper part is
 * the number of chances that stay with the slot's own value, the lower `bits` the value that gets the rest.
 *
 * A large table is read at random and does not fit the near caches, so it may come with a brief one of half
 * the size: the same words without the lower 30 bits of the chances. Those bits matter only when the draw's
 * upper bits equal the slot's, once in 2^(32-bits) draws, and are then looked up: the law is the same. */
#define CUT 30

#define ALIAS(T)                                                                                    \
    static int alias_##T(const uint64_t *words, const T *in, T *out, Py_ssize_t n,                  \
                         const uint64_t *table, uint64_t rows, int bits) {                          \
        const uint64_t mask = ((uint64_t)1 << (BITS - bits)) - 1;                                   \
        const uint64_t other = ((uint64_t)1 << bits) - 1;                                           \
        uint64_t wrong = 0;                                                                         \
        for (Py_ssize_t i = 0; i < n; i++) {                                                        \
            uint64_t r = LITTLE(words[i]) >> DROP;                                                  \
            uint64_t x = in[i];                                                                     \
            wrong |= x >= rows;                                                                     \
            x = x < rows ? x : 0;                                                                   \
            uint64_t slot = r >> (BITS - bits);                                                     \
            uint64_t word = table[(x << bits) + slot];                                              \
            uint64_t second = word & other;                                                         \
            uint64_t own = -(uint64_t)((r & mask) < (word >> bits));                                \
            out[i] = (T)(second ^ ((second ^ slot) & own));                                         \
        }                                                                                           \
        return wrong != 0;                                                                          \
    }                                                                                               \
    static int brief_##T(const uint64_t *words, const T *in, T *out, Py_ssize_t n,                  \
                         const uint64_t *table, const uint32_t *brief, uint64_t rows, int bits) {   \
        const uint64_t mask = ((uint64_t)1 << (BITS - bits)) - 1;                                   \
        const uint64_t other = ((uint64_t)1 << bits) - 1;                                           \
        uint64_t wrong = 0;                                                                         \
        for (Py_ssize_t i = 0; i < n; i++) {                                                        \
            if (i + AHEAD < n) { /* the table is far: ask for what is needed soon */                \
                uint64_t y = in[i + AHEAD];                                                         \
                y = y < rows ? y : 0;                                                               \
                uint64_t soon = LITTLE(words[i + AHEAD]) >> DROP >> (BITS - bits);                  \
                __builtin_prefetch(&brief[(y << bits) + soon]);                                     \
            }                                                                                       \
            uint64_t r = LITTLE(words[i]) >> DROP;                                                  \
            uint64_t x = in[i];                                                                     \
            wrong |= x >= rows;                                                                     \
            x = x < rows ? x : 0;                                                                   \
            uint64_t slot = r >> (BITS - bits);                                                     \
            uint64_t word = brief[(x << bits) + slot];                                              \
            uint64_t second = word & other, chances = word >> bits, drawn = (r & mask) >> CUT;      \
            uint64_t own = -(uint64_t)(drawn < chances);                                            \
            if (__builtin_expect(drawn == chances, 0))                                              \
                own = -(uint64_t)((r & mask) < (table[(x << bits) + slot] >> bits));                \
            out[i] = (T)(second ^ ((second ^ slot) & own));                                         \
        }                                                                                           \
        return wrong != 0;                                                                          \
    }
ALIAS(uint8_t)
ALIAS(uint16_t)
ALIAS(uint32_t)

/* One row by Walker's method in integers: a slot that is too empty is filled up by a value that has too much.
 * Fails, and only then, when the weights are negative or do not sum to slots * capacity. */
static int fill_row(const int64_t *weights, uint64_t size, uint64_t *table, int bits, uint64_t *share,
                    uint32_t *poor, uint32_t *rich) {
    const uint64_t slots = (uint64_t)1 << bits, capacity = (uint64_t)1 << (BITS - bits);
    uint64_t poors = 0, riches = 0;
    for (uint64_t v = 0; v < slots; v++) {
        if (v < size && (weights[v] < 0 || weights[v] > (int64_t)1 << BITS)) return -1;
        share[v] = v < size ? (uint64_t)weights[v] : 0;
        if (share[v] < capacity) poor[poors++] = (uint32_t)v;
        else rich[riches++] = (uint32_t)v;
    }
    while (poors) {
        uint32_t slot = poor[--poors];
        if (!riches) return -1;
        uint32_t donor = rich[riches - 1];
        table[slot] = share[slot] << bits | donor;
        share[donor] -= capacity - share[slot];
        if (share[donor] < capacity) {
            riches--;
            poor[poors++] = donor;
        }
    }
    while (riches) { /* exactly full: nothing is kept apart, the other value is the slot's own */
        uint32_t slot = rich[--riches];
        if (share[slot] != capacity) return -1;
        table[slot] = slot;
    }
    return 0;
}

static PyObject *retain(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *words_o, *in_o, *out_o;
    unsigned long long size, step;
    if (!PyArg_ParseTuple(args, "OOOKK", &words_o, &in_o, &out_o, &size, &step)) return NULL;
    Buf words = {.held = 0}, in = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(words_o, &words, 8, 0, "words") || take(in_o, &in, 0, 0, "codes") || take(out_o, &out, 0, 1, "out"))
        goto done;
    int width = code_width(&in, &out);
    if (!width) goto done;
    Py_ssize_t n = in.view.len / width;
    if (same_length(n, words.view.len / 8, "words") || same_length(n, out.view.len / width, "out")) goto done;
    if (size == 0 || step > ((uint64_t)1 << BITS) / size) {
        PyErr_SetString(PyExc_ValueError, "size * step must be at most 2^62");
        goto done;
    }
    if (step == 0) {
        if (out.view.buf != in.view.buf) memmove(out.view.buf, in.view.buf, (size_t)in.view.len);
    } else {
        uint64_t reciprocal = step == 1 ? UINT64_MAX : (uint64_t)(((wide)1 << 64) / step);
        Py_BEGIN_ALLOW_THREADS
#define CALL(T_) retain_##T_(words.view.buf, in.view.buf, (T *)out.view.buf, n, step, size * step, reciprocal)
        BY_WIDTH(width, CALL)
#undef CALL
        Py_END_ALLOW_THREADS
    }
    result = Py_NewRef(Py_None);
done:
    drop(&words); drop(&in); drop(&out);
    return result;
}

static PyObject *retain_joint(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *coins_o, *words_o, *in_o, *out_o;
    unsigned long long size, bound;
    if (!PyArg_ParseTuple(args, "OOOOKK", &coins_o, &words_o, &in_o, &out_o, &size, &bound)) return NULL;
    Buf coins = {.held = 0}, words = {.held = 0}, in = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(coins_o, &coins, 8, 0, "coins") || take(words_o, &words, 8, 0, "words") ||
        take(in_o, &in, 0, 0, "codes") || take(out_o, &out, 0, 1, "out"))
        goto done;
    int width = code_width(&in, &out);
    if (!width) goto done;
    Py_ssize_t n = in.view.len / width;
    if (same_length(n, words.view.len / 8, "words") || same_length(n, coins.view.len / 8, "coins") ||
        same_length(n, out.view.len / width, "out"))
        goto done;
    Py_BEGIN_ALLOW_THREADS
#define CALL(T_) joint_##T_(coins.view.buf, words.view.buf, in.view.buf, (T *)out.view.buf, n, bound, size)
    BY_WIDTH(width, CALL)
#undef CALL
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    drop(&coins); drop(&words); drop(&in); drop(&out);
    return result;
}

static PyObject *alias(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *words_o, *in_o, *out_o, *table_o, *brief_o = Py_None;
    int bits;
    if (!PyArg_ParseTuple(args, "OOOOi|O", &words_o, &in_o, &out_o, &table_o, &bits, &brief_o)) return NULL;
    Buf words = {.held = 0}, in = {.held = 0}, out = {.held = 0}, table = {.held = 0}, brief = {.held = 0};
    PyObject *result = NULL;
    if (take(words_o, &words, 8, 0, "words") || take(in_o, &in, 0, 0, "codes") ||
        take(out_o, &out, 0, 1, "out") || take(table_o, &table, 8, 0, "table") ||
        (brief_o != Py_None && take(brief_o, &brief, 4, 0, "brief")))
        goto done;
    int width = code_width(&in, &out);
    if (!width) goto done;
    Py_ssize_t n = in.view.len / width;
    if (same_length(n, words.view.len / 8, "words") || same_length(n, out.view.len / width, "out")) goto done;
    if (bits < 0 || bits > 31) {
        PyErr_SetString(PyExc_ValueError, "bits must be between 0 and 31");
        goto done;
    }
    if (brief.held && same_length(table.view.len / 8, brief.view.len / 4, "brief")) goto done;
    uint64_t rows = (uint64_t)(table.view.len / 8) >> bits;
    int wrong = n > 0 && rows == 0;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
        if (brief.held) {
#define CALL(T_) \
    wrong = brief_##T_(words.view.buf, in.view.buf, (T *)out.view.buf, n, table.view.buf, brief.view.buf, rows, bits)
            BY_WIDTH(width, CALL)
#undef CALL
        } else {
#define CALL(T_) wrong = alias_##T_(words.view.buf, in.view.buf, (T *)out.view.buf, n, table.view.buf, rows, bits)
            BY_WIDTH(width, CALL)
#undef CALL
        }
        Py_END_ALLOW_THREADS
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "codes must lie below the number of rows of the table");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&words); drop(&in); drop(&out); drop(&table); drop(&brief);
    return result;
}

static PyObject *fill_alias(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *weights_o, *table_o;
    unsigned long long size;
    int bits;
    if (!PyArg_ParseTuple(args, "OKOi", &weights_o, &size, &table_o, &bits)) return NULL;
    Buf weights = {.held = 0}, table = {.held = 0};
    PyObject *result = NULL;
    uint64_t *share = NULL;
    uint32_t *poor = NULL, *rich = NULL;
    if (take(weights_o, &weights, 8, 0, "weights") || take(table_o, &table, 8, 1, "table")) goto done;
    if (bits < 0 || bits > 31 || size < 1 || size > (uint64_t)1 << bits) {
        PyErr_SetString(PyExc_ValueError, "2^bits slots must hold size values, with bits between 0 and 31");
        goto done;
    }
    size_t slots = (size_t)1 << bits, rows = (size_t)(weights.view.len / 8) / size;
    if ((size_t)(weights.view.len / 8) != rows * size) {
        PyErr_SetString(PyExc_ValueError, "weights must hold whole rows");
        goto done;
    }
    if (same_length((Py_ssize_t)(rows << bits), table.view.len / 8, "table")) goto done;
    share = malloc(slots * sizeof(uint64_t));
    poor = malloc(slots * sizeof(uint32_t));
    rich = malloc(slots * sizeof(uint32_t));
    if (!share || !poor || !rich) {
        PyErr_NoMemory();
        goto done;
    }
    int failed = 0;
    Py_BEGIN_ALLOW_THREADS
    for (size_t row = 0; row < rows && !failed; row++)
        failed = fill_row((const int64_t *)weights.view.buf + row * size, size,
                          (uint64_t *)table.view.buf + (row << bits), bits, share, poor, rich);
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_SetString(PyExc_ValueError, "weights must not be negative and every row must sum to 2^62");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    free(share); free(poor); free(rich);
    drop(&weights); drop(&table);
    return result;
}

static PyObject *shorten_alias(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *table_o, *brief_o;
    int bits;
    if (!PyArg_ParseTuple(args, "OOi", &table_o, &brief_o, &bits)) return NULL;
    Buf table = {.held = 0}, brief = {.held = 0};
    PyObject *result = NULL;
    if (take(table_o, &table, 8, 0, "table") || take(brief_o, &brief, 4, 1, "brief")) goto done;
    Py_ssize_t n = table.view.len / 8;
    if (same_length(n, brief.view.len / 4, "brief")) goto done;
    if (bits < 0 || bits > 31) {
        PyErr_SetString(PyExc_ValueError, "bits must be between 0 and 31");
        goto done;
    }
    const uint64_t *from = table.view.buf;
    uint32_t *to = brief.view.buf;
    for (Py_ssize_t i = 0; i < n; i++)
        to[i] = (uint32_t)(from[i] >> bits >> CUT << bits | (from[i] & (((uint64_t)1 << bits) - 1)));
    result = Py_NewRef(Py_None);
done:
    drop(&table); drop(&brief);
    return result;
}

static PyMethodDef methods[] = {
    {"retain", retain, METH_VARARGS, "retain(words, codes, out, size, step): exact retention-replacement."},
    {"retain_joint", retain_joint, METH_VARARGS,
     "retain_joint(coins, words, codes, out, size, bound): one attribute under the record's coin."},
    {"alias", alias, METH_VARARGS, "alias(words, codes, out, table, bits, brief=None): draws from a dense matrix."},
    {"fill_alias", fill_alias, METH_VARARGS, "fill_alias(weights, size, table, bits): alias rows of integer weights."},
    {"shorten_alias", shorten_alias, METH_VARARGS, "shorten_alias(table, brief, bits): the table's upper bits."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels", "Hot loops of the exact samplers.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModule_Create(&definition); }
