/* The samplers' hot loops. Every function is a pure function of its buffers, holds no state, releases the
 * interpreter lock, and decides by integer comparison alone: no float ever decides a coin.
 *
 * A keystream word is 64 bits; its upper 62 bits are the uniform integer the laws are stated in (ONE = 2^62
 * in mechanisms/channel.py). 62 and not 64, so that the certain event, 2^62 itself, fits a machine word. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DROP 2
#define BITS 62

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define LITTLE(x) __builtin_bswap64(x)
#else
#define LITTLE(x) (x)
#endif

typedef unsigned __int128 wide;

/* ------------------------------------------------------------------ buffers */

typedef struct {
    Py_buffer view;
    int held;
} Buf;

static int take(PyObject *object, Buf *buf, Py_ssize_t item, int writable, const char *name) {
    buf->held = 0;
    if (PyObject_GetBuffer(object, &buf->view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0) return -1;
    buf->held = 1;
    if (item && buf->view.len % item) {
        PyErr_Format(PyExc_ValueError, "%s must hold items of %zd bytes", name, item);
        return -1;
    }
    return 0;
}

static void drop(Buf *buf) {
    if (buf->held) PyBuffer_Release(&buf->view);
}

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
 * the number of chances that stay with the slot's own value, the lower `bits` the value that gets the rest. */
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
    }
ALIAS(uint8_t)
ALIAS(uint16_t)
ALIAS(uint32_t)

#define BY_WIDTH(width, call)                                   \
    switch (width) {                                            \
        case 1: { typedef uint8_t T; call(uint8_t); break; }    \
        case 2: { typedef uint16_t T; call(uint16_t); break; }  \
        case 4: { typedef uint32_t T; call(uint32_t); break; }  \
    }

static int same_length(Py_ssize_t n, Py_ssize_t m, const char *what) {
    if (n == m) return 0;
    PyErr_Format(PyExc_ValueError, "%s must have %zd entries, got %zd", what, n, m);
    return -1;
}

static int code_width(const Buf *in, const Buf *out) {
    if (in->view.itemsize != out->view.itemsize ||
        (in->view.itemsize != 1 && in->view.itemsize != 2 && in->view.itemsize != 4)) {
        PyErr_SetString(PyExc_ValueError, "codes must be unsigned integers of 1, 2 or 4 bytes, in and out alike");
        return 0;
    }
    return (int)in->view.itemsize;
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
    PyObject *words_o, *in_o, *out_o, *table_o;
    int bits;
    if (!PyArg_ParseTuple(args, "OOOOi", &words_o, &in_o, &out_o, &table_o, &bits)) return NULL;
    Buf words = {.held = 0}, in = {.held = 0}, out = {.held = 0}, table = {.held = 0};
    PyObject *result = NULL;
    if (take(words_o, &words, 8, 0, "words") || take(in_o, &in, 0, 0, "codes") ||
        take(out_o, &out, 0, 1, "out") || take(table_o, &table, 8, 0, "table"))
        goto done;
    int width = code_width(&in, &out);
    if (!width) goto done;
    Py_ssize_t n = in.view.len / width;
    if (same_length(n, words.view.len / 8, "words") || same_length(n, out.view.len / width, "out")) goto done;
    if (bits < 0 || bits > 31) {
        PyErr_SetString(PyExc_ValueError, "bits must be between 0 and 31");
        goto done;
    }
    uint64_t rows = (uint64_t)(table.view.len / 8) >> bits;
    int wrong = 0;
    Py_BEGIN_ALLOW_THREADS
#define CALL(T_) wrong = alias_##T_(words.view.buf, in.view.buf, (T *)out.view.buf, n, table.view.buf, rows, bits)
    BY_WIDTH(width, CALL)
#undef CALL
    Py_END_ALLOW_THREADS
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "codes must lie below the number of rows of the table");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&words); drop(&in); drop(&out); drop(&table);
    return result;
}

/* ------------------------------------------------------------------ order of keyed tags
 * The rank order of n tags of 128 bits (two words each, first word more significant). The tags are cipher
 * blocks of distinct counters, hence distinct and uniform: two counting passes leave some ten per bucket. */
typedef struct {
    uint64_t tag;
    uint32_t row;
} Entry;

static inline int later(const Entry *a, const Entry *b, const uint64_t *tags) {
    if (a->tag != b->tag) return a->tag > b->tag;
    return LITTLE(tags[2 * (uint64_t)a->row + 1]) > LITTLE(tags[2 * (uint64_t)b->row + 1]);
}

static int by_buckets(const uint64_t *tags, uint32_t *order, Py_ssize_t n) {
    int fine = 0;
    while (fine < 24 && ((Py_ssize_t)1 << (fine + 3)) < n) fine++;
    int coarse = fine < 11 ? fine : 11;
    size_t buckets = (size_t)1 << coarse;
    Entry *entries = malloc((size_t)(n ? n : 1) * sizeof(Entry));
    Entry *inside = NULL;
    size_t *start = calloc(buckets + 1, sizeof(size_t));
    size_t *place = malloc(buckets * sizeof(size_t));
    size_t *count = NULL;
    int ok = entries && start && place;
    if (!ok) goto done;
    /* shifting a 64-bit word by 64 is undefined: the single-bucket case has its own path through (x >> 63 >> 1) */
#define TOP(x, bits) ((x) >> (63 - (bits)) >> 1)
    for (Py_ssize_t i = 0; i < n; i++) start[TOP(LITTLE(tags[2 * i]), coarse) + 1]++;
    size_t largest = 0;
    for (size_t b = 0; b < buckets; b++) {
        if (start[b + 1] > largest) largest = start[b + 1];
        start[b + 1] += start[b];
        place[b] = start[b];
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t tag = LITTLE(tags[2 * i]);
        Entry *e = &entries[place[TOP(tag, coarse)]++];
        e->tag = tag;
        e->row = (uint32_t)i;
    }
    int rest = fine - coarse;
    size_t inner = (size_t)1 << rest;
    inside = malloc((largest ? largest : 1) * sizeof(Entry));
    count = malloc((inner + 1) * sizeof(size_t));
    ok = inside && count;
    if (!ok) goto done;
    for (size_t b = 0; b < buckets; b++) {
        const Entry *from = entries + start[b];
        size_t m = start[b + 1] - start[b];
        memset(count, 0, (inner + 1) * sizeof(size_t));
        for (size_t i = 0; i < m; i++) count[(TOP(from[i].tag, fine) & (inner - 1)) + 1]++;
        for (size_t c = 0; c < inner; c++) count[c + 1] += count[c];
        for (size_t i = 0; i < m; i++) inside[count[TOP(from[i].tag, fine) & (inner - 1)]++] = from[i];
        for (size_t i = 1; i < m; i++) { /* buckets stand in order, so insertion only moves within one */
            Entry e = inside[i];
            size_t j = i;
            while (j > 0 && later(&inside[j - 1], &e, tags)) {
                inside[j] = inside[j - 1];
                j--;
            }
            inside[j] = e;
        }
        for (size_t i = 0; i < m; i++) order[start[b] + i] = inside[i].row;
    }
done:
    free(entries); free(inside); free(start); free(place); free(count);
    return ok ? 0 : -1;
}

static PyObject *order_of_tags(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *tags_o, *order_o;
    if (!PyArg_ParseTuple(args, "OO", &tags_o, &order_o)) return NULL;
    Buf tags = {.held = 0}, order = {.held = 0};
    PyObject *result = NULL;
    if (take(tags_o, &tags, 16, 0, "tags") || take(order_o, &order, 4, 1, "order")) goto done;
    Py_ssize_t n = order.view.len / 4;
    if (same_length(n, tags.view.len / 16, "tags")) goto done;
    if ((uint64_t)n > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "at most 2^32 - 1 rows can be ordered at once");
        goto done;
    }
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = by_buckets(tags.view.buf, order.view.buf, n);
    Py_END_ALLOW_THREADS
    if (failed) {
        PyErr_NoMemory();
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&tags); drop(&order);
    return result;
}

/* ------------------------------------------------------------------ out[i] = values[order[i]] */
#define GATHER(T)                                                                                     \
    static int gather_##T(const T *values, Py_ssize_t m, const uint32_t *order, T *out, Py_ssize_t n) { \
        uint64_t wrong = 0;                                                                           \
        for (Py_ssize_t i = 0; i < n; i++) {                                                          \
            uint32_t from = order[i];                                                                 \
            wrong |= (Py_ssize_t)from >= m;                                                           \
            out[i] = values[(Py_ssize_t)from < m ? from : 0];                                         \
        }                                                                                             \
        return wrong != 0;                                                                            \
    }
GATHER(uint8_t)
GATHER(uint16_t)
GATHER(uint32_t)

static PyObject *gather(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *values_o, *order_o, *out_o;
    if (!PyArg_ParseTuple(args, "OOO", &values_o, &order_o, &out_o)) return NULL;
    Buf values = {.held = 0}, order = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(values_o, &values, 0, 0, "values") || take(order_o, &order, 4, 0, "order") ||
        take(out_o, &out, 0, 1, "out"))
        goto done;
    int width = code_width(&values, &out);
    if (!width) goto done;
    Py_ssize_t n = out.view.len / width, m = values.view.len / width;
    if (same_length(n, order.view.len / 4, "order")) goto done;
    int wrong = n > 0 && m == 0;
    if (!wrong) {
        Py_BEGIN_ALLOW_THREADS
#define CALL(T_) wrong = gather_##T_(values.view.buf, m, order.view.buf, (T *)out.view.buf, n)
        BY_WIDTH(width, CALL)
#undef CALL
        Py_END_ALLOW_THREADS
    }
    if (wrong) {
        PyErr_SetString(PyExc_ValueError, "order must hold row numbers of values");
        goto done;
    }
    result = Py_NewRef(Py_None);
done:
    drop(&values); drop(&order); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"retain", retain, METH_VARARGS, "retain(words, codes, out, size, step): exact retention-replacement."},
    {"retain_joint", retain_joint, METH_VARARGS,
     "retain_joint(coins, words, codes, out, size, bound): one attribute under the record's coin."},
    {"alias", alias, METH_VARARGS, "alias(words, codes, out, table, bits): exact draws from a dense matrix."},
    {"order_of_tags", order_of_tags, METH_VARARGS, "order_of_tags(tags, order): rows by ascending 128-bit tag."},
    {"gather", gather, METH_VARARGS, "gather(values, order, out): out[i] = values[order[i]]."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_kernels",
                                        "Hot loops of the exact samplers and the keyed shuffle.", 0, methods,
                                        NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModule_Create(&definition); }
