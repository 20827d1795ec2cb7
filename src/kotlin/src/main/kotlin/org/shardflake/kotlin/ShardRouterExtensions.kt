/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.kotlin

import org.shardflake.ShardKey
import org.shardflake.ShardflakeId
import org.shardflake.router.ShardRouter
import org.shardflake.router.ShardTransaction

// Kotlin does not infer what a Java method throws, so ShardRouter's own need type arguments: write<Long, Exception>(uid) { ... }.
// With the name of its argument, a call is never Java's, but one of these. It then also says whether it has a uid or an id.

/** Runs work in a transaction on the shard of a uid: `router.write(uid = 42) { tx -> ... }`. */
public inline fun <T> ShardRouter.write(uid: Long, crossinline work: (ShardTransaction) -> T): T =
    write<T, Exception>(ShardKey.uid(uid)) { tx -> work(tx) }

/** Runs work in a transaction on the shard of an id: `router.write(id = photoId) { tx -> ... }`. */
public inline fun <T> ShardRouter.write(id: ShardflakeId, crossinline work: (ShardTransaction) -> T): T =
    write<T, Exception>(ShardKey.id(id)) { tx -> work(tx) }

/** Runs work in a transaction on the shard of a key: `router.write(key = ShardKey.uid("ann")) { tx -> ... }`. */
public inline fun <T> ShardRouter.write(key: ShardKey, crossinline work: (ShardTransaction) -> T): T =
    write<T, Exception>(key) { tx -> work(tx) }

/** Runs work in a read-only transaction on the shard of a uid: `router.read(uid = 42) { tx -> ... }`. */
public inline fun <T> ShardRouter.read(uid: Long, crossinline work: (ShardTransaction) -> T): T =
    read<T, Exception>(ShardKey.uid(uid)) { tx -> work(tx) }

/** Runs work in a read-only transaction on the shard of an id: `router.read(id = photoId) { tx -> ... }`. */
public inline fun <T> ShardRouter.read(id: ShardflakeId, crossinline work: (ShardTransaction) -> T): T =
    read<T, Exception>(ShardKey.id(id)) { tx -> work(tx) }

/** Runs work in a read-only transaction on the shard of a key: `router.read(key = ShardKey.uid("ann")) { tx -> ... }`. */
public inline fun <T> ShardRouter.read(key: ShardKey, crossinline work: (ShardTransaction) -> T): T =
    read<T, Exception>(key) { tx -> work(tx) }
