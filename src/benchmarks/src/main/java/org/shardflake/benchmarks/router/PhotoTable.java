/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.util.Objects;
import org.jooq.Record;
import org.jooq.TableField;
import org.jooq.impl.CustomRecord;
import org.jooq.impl.CustomTable;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;

/** The table of photos for jOOQ, as its code generator would describe that of the template schema. */
final class PhotoTable extends CustomTable<PhotoTable.PhotoRecord> {

    static final String TEMPLATE_SCHEMA = "app";
    static final PhotoTable PHOTO = new PhotoTable();

    // Not static: they belong to the table that is being made.
    final TableField<PhotoRecord, Long> id = createField(DSL.name("id"), SQLDataType.BIGINT);
    final TableField<PhotoRecord, Long> uid = createField(DSL.name("uid"), SQLDataType.BIGINT);
    final TableField<PhotoRecord, String> title = createField(DSL.name("title"), SQLDataType.VARCHAR);

    /** A row of it. */
    static final class PhotoRecord extends CustomRecord<PhotoRecord> {
        PhotoRecord() {
            super(PHOTO);
        }
    }

    private PhotoTable() {
        super(DSL.name("photo"), DSL.schema(DSL.name(TEMPLATE_SCHEMA)));
    }

    @Override
    public Class<? extends PhotoRecord> getRecordType() {
        return PhotoRecord.class;
    }

    static Photo photo(Record row) {
        return new Photo(
                Objects.requireNonNull(row.get(PHOTO.id)),
                Objects.requireNonNull(row.get(PHOTO.uid)),
                Objects.requireNonNull(row.get(PHOTO.title)));
    }
}
