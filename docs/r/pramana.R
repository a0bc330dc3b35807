# Tables from a Pramana bundle in R: undo the law of the certificate, with standard errors.
#
#   source("pramana.R")
#   pramana_table("bundle", c("sex", "worked_last_year"))
#
# Needs jsonlite. A bundle with CSV is read by base R, one with Parquet by the arrow package. The estimates are those of
# `pramana crosstab --method inverse`: unbiased, so they can be negative. Verify a bundle first, with `pramana verify`.

pramana_data <- function(bundle, certificate) {
  if (certificate$output == "csv") {
    data <- utils::read.csv(file.path(bundle, "data.csv"), colClasses = "character", na.strings = "", check.names = FALSE)
    if (isTRUE(certificate$escaped)) data[] <- lapply(data, function(column) sub("^'(?=[-=+@\t\r'])", "", column, perl = TRUE))
    return(data)
  }
  if (!requireNamespace("arrow", quietly = TRUE)) stop("A Parquet bundle needs the arrow package: install.packages(\"arrow\")")
  as.data.frame(arrow::read_parquet(file.path(bundle, "data.parquet")))
}

# The chance that each true value (row) is published as each value (column), for one randomised column.
pramana_channel <- function(channel) {
  one <- 2^62
  if (channel$kind == "retention") {
    arrives <- as.numeric(channel$step) / one
    return(diag(1 - channel$size * arrives, channel$size) + arrives)
  }
  if (channel$kind != "dense") stop("A column that is pure chance or of another kind cannot be inverted here")
  weights <- do.call(rbind, lapply(channel$weights, function(row) as.numeric(unlist(row))))
  weights / one
}

pramana_matrix <- function(certificate, by, sizes) {
  law <- certificate$mechanism$law
  if (is.null(law) || !law$coin %in% c("attribute", "record")) stop("This bundle's law is not one of independent coins")
  cells <- prod(sizes)
  if (law$coin == "record") {
    if (!all(by %in% names(law$sizes))) stop("Ask for columns that the record coin has drawn")
    redrawn <- as.numeric(law$bound) / 2^62
    return(diag(1 - redrawn, cells) + redrawn / cells)
  }
  whole <- matrix(1)
  for (name in by) {
    channel <- law$channels[[name]]
    whole <- whole %x% (if (is.null(channel)) diag(sizes[[name]]) else pramana_channel(channel))
  }
  whole
}

pramana_table <- function(bundle, by, confidence = 0.95) {
  certificate <- jsonlite::fromJSON(file.path(bundle, "certificate.json"), simplifyVector = FALSE)
  attributes <- certificate$attributes
  names(attributes) <- vapply(attributes, function(a) a$name, "")
  labels <- lapply(by, function(name) {
    domain <- attributes[[name]]$domain
    if (is.null(domain)) stop(paste("No public domain for", name))
    c(unlist(domain$labels), if (isTRUE(domain$missing)) NA)
  })
  names(labels) <- by
  sizes <- vapply(labels, length, 1L)
  data <- pramana_data(bundle, certificate)
  # Cells in the order of the certificate's labels, the last attribute changing first.
  code <- rep(0, nrow(data))
  for (name in by) code <- code * sizes[[name]] + match(data[[name]], labels[[name]]) - 1
  published <- tabulate(code + 1, prod(sizes))
  inverse <- t(solve(pramana_matrix(certificate, by, sizes)))  # estimate = inverse %*% published
  estimate <- as.vector(inverse %*% published)
  error <- sqrt(pmax(as.vector(inverse^2 %*% published) - estimate, 0))
  z <- qnorm((1 + confidence) / 2)
  cells <- rev(expand.grid(rev(labels), stringsAsFactors = FALSE))
  cbind(cells, published = published, estimate = estimate, std_error = error, low = estimate - z * error, high = estimate + z * error)
}
