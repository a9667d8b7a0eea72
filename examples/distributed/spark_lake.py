# SPDX-License-Identifier: Apache-2.0
"""Encrypted Parquet files as a data source of Spark (PySpark 4.1 or later).

    spark-submit spark_lake.py encrypt PARQUET SEALED RECIPIENT
    spark-submit spark_lake.py sum SEALED KEY_FILE COLUMN

PARQUET is what spark.read.parquet takes. SEALED is a folder that all workers see; each file there
is a partition. In a program of your own, register PaesSource, then

    spark.read.format("paes").option("identity", KEY_FILE).load(SEALED)
    table.write.format("paes").option("recipients", RECIPIENT).mode("append").save(SEALED)

Spark may run a task twice, and do again what is lost with a worker. Each attempt writes a file of
its own, and only the files of the attempts that count get names that a reader looks for.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

import paes

SUFFIX = ".parquet.paes"
UNFINISHED = ".unfinished"


def opened(path: str, identity: str) -> Any:
    return paes.open(path, identity=identity, threads=1)


@dataclass
class File(InputPartition):  # type: ignore[misc]
    path: str


@dataclass
class Written(WriterCommitMessage):  # type: ignore[misc]
    path: str | None  # none: the partition was empty


class PaesSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return "paes"

    def schema(self) -> Any:
        path = PaesReader(self.options, None).files()[0]
        with opened(path, self.options["identity"]) as file:
            return from_arrow_schema(pq.read_schema(file))

    def reader(self, schema: Any) -> PaesReader:
        return PaesReader(self.options, schema)

    def writer(self, schema: Any, overwrite: bool) -> PaesWriter:
        if overwrite:
            raise ValueError('paes: append is the only mode: .mode("append")')
        return PaesWriter(self.options, schema)


class PaesReader(DataSourceReader):  # type: ignore[misc]
    def __init__(self, options: Any, schema: Any) -> None:
        self.path, self.identity = options["path"], options.get("identity")
        self.names = schema.names if schema else None

    def files(self) -> list[str]:
        files = sorted(str(path) for path in Path(self.path).glob(f"*{SUFFIX}"))
        if not files:
            raise ValueError(f"paes: {self.path} has no files {SUFFIX}")
        return files

    def partitions(self) -> list[InputPartition]:
        return [File(path) for path in self.files()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with opened(partition.path, self.identity) as file:
            yield from pq.ParquetFile(file).iter_batches(columns=self.names)


class PaesWriter(DataSourceArrowWriter):  # type: ignore[misc]
    def __init__(self, options: Any, schema: Any) -> None:
        self.path, self.recipients = Path(options["path"]), options["recipients"]
        self.schema = schema
        self.unfinished = self.path / f"{UNFINISHED}-{uuid.uuid4().hex}"
        self.unfinished.mkdir(parents=True)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        first = next(iterator, None)
        if first is None:
            return Written(None)
        path = self.unfinished / f"{uuid.uuid4().hex}{SUFFIX}"
        with (
            paes.open(path, "wb", recipients=self.recipients, threads=1) as file,
            pq.ParquetWriter(file, to_arrow_schema(self.schema)) as writer,
        ):
            writer.write_batch(first)
            for batch in iterator:
                writer.write_batch(batch)
        return Written(str(path))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Runs on the driver, once all partitions are written."""
        for message in messages:
            if message is not None and message.path is not None:
                os.rename(message.path, self.path / Path(message.path).name)
        self.abort(messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Removes what lost attempts have left."""
        for path in self.unfinished.iterdir():
            path.unlink()
        self.unfinished.rmdir()


def main(command: str, *arguments: str) -> None:
    spark = SparkSession.builder.getOrCreate()
    spark.dataSource.register(PaesSource)
    if command == "encrypt":
        parquet, sealed, recipient = arguments
        table = spark.read.parquet(parquet)
        table.write.format("paes").option("recipients", recipient).mode("append").save(sealed)
    else:
        sealed, key_file, column = arguments
        table = spark.read.format("paes").option("identity", key_file).load(sealed)
        print(table.select(column).groupBy().sum(column).first()[0])
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
