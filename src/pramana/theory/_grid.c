/* Mass on a grid of two ratios, moved and split: the hot loop of the blanket of many attributes. */
#include "../_buffers.h"

static void split_line(const double *line, Py_ssize_t size, const int64_t *right, const double *share, double low,
                       double high, double *below, double *above) {
    for (Py_ssize_t s = 0; s < size; s++) {
        if (line[s] == 0.0) continue;
        int64_t at = right[s];
        double up = share[s] * line[s], down = line[s] - up;
        below[at] += low * down;
        below[at + 1] += low * up;
        above[at] += high * down;
        above[at + 1] += high * up;
    }
}

static int within(const int64_t *places, Py_ssize_t n, Py_ssize_t size) {
    for (Py_ssize_t i = 0; i < n; i++)
        if (places[i] < 0 || places[i] >= size - 1) return 0;
    return 1;
}

/* out[i + 0|1, j + 0|1] += times * mass[r, s] by the shares of r and s */
static PyObject *split(PyObject *self, PyObject *args) {
    (void)self;
    PyObject *mass_o, *rows_o, *row_shares_o, *columns_o, *column_shares_o, *out_o;
    double times;
    if (!PyArg_ParseTuple(args, "OOOOOdO", &mass_o, &rows_o, &row_shares_o, &columns_o, &column_shares_o, &times,
                          &out_o))
        return NULL;
    Buf mass = {.held = 0}, rows = {.held = 0}, row_shares = {.held = 0}, columns = {.held = 0},
        column_shares = {.held = 0}, out = {.held = 0};
    PyObject *result = NULL;
    if (take(mass_o, &mass, 8, 0, "mass") || take(rows_o, &rows, 8, 0, "rows") ||
        take(row_shares_o, &row_shares, 8, 0, "row shares") || take(columns_o, &columns, 8, 0, "columns") ||
        take(column_shares_o, &column_shares, 8, 0, "column shares") || take(out_o, &out, 8, 1, "out"))
        goto done;
    Py_ssize_t n = rows.view.len / 8, m = columns.view.len / 8;
    if (same_length(n, row_shares.view.len / 8, "row shares") ||
        same_length(m, column_shares.view.len / 8, "column shares") || same_length(n * m, mass.view.len / 8, "mass") ||
        same_length(n * m, out.view.len / 8, "out"))
        goto done;
    const int64_t *row = rows.view.buf, *column = columns.view.buf;
    if (!within(row, n, n) || !within(column, m, m)) {
        PyErr_SetString(PyExc_ValueError, "rows and columns must lie left of a node of the grid");
        goto done;
    }
    const double *from = mass.view.buf, *share = row_shares.view.buf;
    double *to = out.view.buf;
    for (Py_ssize_t r = 0; r < n; r++)
        split_line(from + r * m, m, column, column_shares.view.buf, times * (1 - share[r]), times * share[r],
                   to + row[r] * m, to + (row[r] + 1) * m);
    result = Py_NewRef(Py_None);
done:
    drop(&mass); drop(&rows); drop(&row_shares); drop(&columns); drop(&column_shares); drop(&out);
    return result;
}

static PyMethodDef methods[] = {
    {"split", split, METH_VARARGS,
     "split(mass, rows, row_shares, columns, column_shares, times, out): mass moved to the nodes around its place."},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_grid", "Mass on a grid of two ratios.", 0,
                                        methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__grid(void) { return PyModule_Create(&definition); }
