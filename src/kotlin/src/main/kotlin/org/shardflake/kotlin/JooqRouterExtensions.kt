/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.kotlin

import org.jooq.DSLContext
import org.shardflake.ShardKey
import org.shardflake.ShardflakeId
import org.shardflake.jooq.JooqRouter

/** Runs work in a transaction on the shard of a uid: `jooq.write(uid = 42) { dsl -> ... }`. */
public inline fun <T> JooqRouter.write(uid: Long, crossinline work: (DSLContext) -> T): T =
    write<T, Exception>(ShardKey.uid(uid)) { dsl -> work(dsl) }

/** Runs work in a transaction on the shard of an id: `jooq.write(id = photoId) { dsl -> ... }`. */
public inline fun <T> JooqRouter.write(id: ShardflakeId, crossinline work: (DSLContext) -> T): T =
    write<T, Exception>(ShardKey.id(id)) { dsl -> work(dsl) }

/** Runs work in a transaction on the shard of a key: `jooq.write(key = ShardKey.uid("ann")) { dsl -> ... }`. */
public inline fun <T> JooqRouter.write(key: ShardKey, crossinline work: (DSLContext) -> T): T =
    write<T, Exception>(key) { dsl -> work(dsl) }

/** Runs work in a read-only transaction on the shard of a uid: `jooq.read(uid = 42) { dsl -> ... }`. */
public inline fun <T> JooqRouter.read(uid: Long, crossinline work: (DSLContext) -> T): T =
    read<T, Exception>(ShardKey.uid(uid)) { dsl -> work(dsl) }

/** Runs work in a read-only transaction on the shard of an id: `jooq.read(id = photoId) { dsl -> ... }`. */
public inline fun <T> JooqRouter.read(id: ShardflakeId, crossinline work: (DSLContext) -> T): T =
    read<T, Exception>(ShardKey.id(id)) { dsl -> work(dsl) }

/** Runs work in a read-only transaction on the shard of a key: `jooq.read(key = ShardKey.uid("ann")) { dsl -> ... }`. */
public inline fun <T> JooqRouter.read(key: ShardKey, crossinline work: (DSLContext) -> T): T =
    read<T, Exception>(key) { dsl -> work(dsl) }
