/* The bodies of Parquet's pages of codes: runs and bit-packed groups of eight (apache/parquet-format, Encodings.md),
 * cut into runs as Arrow's encoder cuts them. A pure function of its buffers that releases the interpreter lock. */
#include "../../_buffers.h"

#define MOST_GROUPS 63 /* eight values each; the head of a packed run is one byte */
#define RUN_BYTES 16   /* more than a run takes: ten bytes of its length, four of its value */

static inline char *put_run(char *at, uint64_t count, uint32_t value, int width) {
    uint64_t head = count << 1;
    for (; head > 0x7f; head >>= 7) *at++ = (char)(head | 0x80);
    *at++ = (char)head;
    for (int bits = 0; bits < width; bits += 8) *at++ = (char)(value >> bits);
    return at;
}

static inline char *put_bytes(char *at, uint64_t packed) {
    packed = LITTLE(packed);
    memcpy(at, &packed, 8); /* what is too much is written over by what follows */
    return at;
}

/* Eight bytes, each of at most `width` bits, side by side: neighbours are joined to pairs, pairs to fours. */
static inline char *pack_bytes(char *at, const uint8_t *codes, int width) {
    uint64_t x;
    memcpy(&x, codes, 8);
    x = LITTLE(x);
    x = (x & 0x00ff00ff00ff00ffULL) | ((x >> 8) & 0x00ff00ff00ff00ffULL) << width;
    x = (x & 0x0000ffff0000ffffULL) | ((x >> 16) & 0x0000ffff0000ffffULL) << (2 * width);
    x = (x & 0x00000000ffffffffULL) | (x >> 32) << (4 * width);
    return put_bytes(at, x) + width;
}

#define PACK_WIDE(T)                                                                        \
    static inline char *pack_##T(char *at, const T *codes, int width) {                     \
        uint64_t bits = 0;                                                                  \
        int count = 0;                                                                      \
        for (int i = 0; i < 8; i++) {                                                       \
            bits |= (uint64_t)codes[i] << count;                                            \
            for (count += width; count >= 8; count -= 8, bits >>= 8) *at++ = (char)bits;    \
        }                                                                                   \
        return at;                                                                          \
    }
PACK_WIDE(uint8_t)
PACK_WIDE(uint16_t)
PACK_WIDE(uint32_t)

#define PUT_GROUP(T, from) \
    (sizeof(T) == 1 && width <= 8 ? pack_bytes(at, (const uint8_t *)(from), width) : pack_##T(at, (from), width))

/* Of eight codes; bytes are compared at once, for a branch per code is not to be guessed where codes are coins. */
static inline int same_bytes(const uint8_t *codes) {
    uint64_t x;
    memcpy(&x, codes, 8);
    return x == codes[0] * 0x0101010101010101ULL;
}

#define ALL_SAME(T)                                                                         \
    static inline int all_same_##T(const T *codes, Py_ssize_t n) {                          \
        if (sizeof(T) == 1 && n == 8) return same_bytes((const uint8_t *)codes);            \
        Py_ssize_t same = 1;                                                                \
        while (same < n && codes[same] == codes[0]) same++;                                 \
        return same == n;                                                                   \
    }
ALL_SAME(uint8_t)
ALL_SAME(uint16_t)
ALL_SAME(uint32_t)

/* One page: a value that comes eight times or more from the start of a group on is a run, all else is packed. */
#define BODY(T)                                                                             \
    static char *body_##T(char *at, const T *codes, Py_ssize_t n, int width) {              \
        unsigned char *head = NULL;                                                         \
        unsigned groups = 0;                                                                \
        for (Py_ssize_t i = 0; i < n;) {                                                    \
            Py_ssize_t same = n - i < 8 ? n : i + 8;                                        \
            if ((n - i >= 8 || !head) && all_same_##T(codes + i, same - i)) {               \
                if (head) *head = (unsigned char)(groups << 1 | 1);                         \
                head = NULL;                                                                \
                while (same < n && codes[same] == codes[i]) same++;                         \
                at = put_run(at, (uint64_t)(same - i), codes[i], width);                    \
                i = same;                                                                   \
                continue;                                                                   \
            }                                                                               \
            if (!head) {                                                                    \
                head = (unsigned char *)at++;                                               \
                groups = 0;                                                                 \
            }                                                                               \
            if (n - i >= 8) {                                                               \
                at = PUT_GROUP(T, codes + i);                                               \
            } else {                                                                        \
                T padded[8] = {0};                                                          \
                memcpy(padded, codes + i, (size_t)(n - i) * sizeof(T));                     \
                at = PUT_GROUP(T, padded);                                                  \
            }                                                                               \
            i += 8;                                                                         \
            if (++groups == MOST_GROUPS) {                                                  \
                *head = MOST_GROUPS << 1 | 1;                                               \
                head = NULL;                                                                \
            }                                                                               \
        }                                                                                   \
        if (head) *head = (unsigned char)(groups << 1 | 1);                                 \
        return at;                                                                          \
    }
BODY(uint8_t)
BODY(uint16_t)
BODY(uint32_t)

/* Bytes that a page of n values takes at most, and eight that may be written beyond. */
static inline Py_ssize_t most_bytes(Py_ssize_t n, int width) {
    return (n / 8 + 1) * ((width > RUN_BYTES ? width : RUN_BYTES) + 1) + 8;
}

/* pack(codes, width, ends, lengths, out, sizes): `codes` in pages that end at `ends`; the bytes of each go to
 * `sizes`. The sum of `lengths` over the codes is returned, and a code without a length is refused. */
static PyObject *pack(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *codes_o, *ends_o, *lengths_o, *out_o, *sizes_o, *result = NULL;
    int width;
    if (!PyArg_ParseTuple(args, "OiOOOO", &codes_o, &width, &ends_o, &lengths_o, &out_o, &sizes_o)) return NULL;
    Buf codes = {.held = 0}, ends = {.held = 0}, lengths = {.held = 0}, out = {.held = 0}, sizes = {.held = 0};
    int item;
    if (take(codes_o, &codes, 0, 0, "codes") || take(ends_o, &ends, 8, 0, "ends") ||
        take(lengths_o, &lengths, 8, 0, "lengths") || take(out_o, &out, 1, 1, "out") ||
        take(sizes_o, &sizes, 8, 1, "sizes") || !(item = code_width(&codes, &codes)) ||
        same_length(ends.view.len, sizes.view.len, "sizes"))
        goto done;
    Py_ssize_t n = codes.view.len / item, pages = ends.view.len / 8;
    const int64_t *end = ends.view.buf, *length = lengths.view.buf;
    int64_t *size = sizes.view.buf;
    uint64_t known = (uint64_t)lengths.view.len / 8;
    if (width < 1 || width > 32 || (width < 32 && known > (uint64_t)1 << width)) {
        PyErr_SetString(PyExc_ValueError, "width must be 1 to 32 bits, enough for every code");
        goto done;
    }
    Py_ssize_t before = 0, left = out.view.len;
    for (Py_ssize_t p = 0; p < pages; p++) {
        if (end[p] < before || end[p] > n || (p == pages - 1 && end[p] != n)) {
            PyErr_SetString(PyExc_ValueError, "ends must rise to the number of codes");
            goto done;
        }
        left -= most_bytes(end[p] - before, width);
        before = end[p];
    }
    if (left < 0 || (pages == 0 && n)) {
        PyErr_SetString(PyExc_ValueError, "out must have room for every page");
        goto done;
    }
    uint64_t sum = 0;
    int wrong = 0;
    Py_BEGIN_ALLOW_THREADS
#define SUM(U)                                                                              \
    for (Py_ssize_t i = 0; i < n; i++) {                                                    \
        uint64_t code = ((const T *)codes.view.buf)[i];                                     \
        if (code >= known) { wrong = 1; break; }                                            \
        sum += (uint64_t)length[code];                                                      \
    }
    BY_WIDTH(item, SUM)
    if (!wrong) {
        char *at = out.view.buf;
        before = 0;
        for (Py_ssize_t p = 0; p < pages; p++) {
            char *from = at;
#define PAGE(U) at = body_##U(at, (const T *)codes.view.buf + before, (Py_ssize_t)end[p] - before, width)
            BY_WIDTH(item, PAGE)
            size[p] = at - from;
            before = (Py_ssize_t)end[p];
        }
    }
    Py_END_ALLOW_THREADS
    if (wrong) PyErr_SetString(PyExc_ValueError, "codes must lie below the number of lengths");
    else result = PyLong_FromUnsignedLongLong(sum);
done:
    drop(&codes); drop(&ends); drop(&lengths); drop(&out); drop(&sizes);
    return result;
}

static PyMethodDef methods[] = {
    {"pack", pack, METH_VARARGS, "pack(codes, width, ends, lengths, out, sizes) -> the sum of lengths over the codes"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_pages", "Hot loops of Parquet.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__pages(void) { return PyModule_Create(&definition); }
