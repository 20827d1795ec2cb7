/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.kotlin

import java.sql.Connection
import org.assertj.core.api.Assertions.assertThat
import org.junit.jupiter.api.AfterEach
import org.junit.jupiter.api.BeforeEach
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.extension.RegisterExtension
import org.shardflake.IdLayout
import org.shardflake.Server
import org.shardflake.ShardKey
import org.shardflake.ShardMap
import org.shardflake.Sharding
import org.shardflake.ShardflakeId
import org.shardflake.Spread
import org.shardflake.cluster.PostgresExtension
import org.shardflake.jooq.JooqRouter
import org.shardflake.router.ShardRouter
import org.shardflake.sql.FunctionLibrary

/** No call has a type argument: that these compile is the half of the proof that every build runs. */
@Tag("full")
class ExtensionsTest {

    companion object {
        @RegisterExtension
        @JvmField
        val postgres: PostgresExtension = PostgresExtension.servers(1).prepare { connection ->
            FunctionLibrary.deploy(connection, IdLayout.DEFAULT.epochMillis())
            connection.execute("SELECT shardflake.create_shard(shard) FROM generate_series(0, 7) shard")
            connection.execute("CREATE TABLE shard_0002.photo (id bigint PRIMARY KEY, title text)")
        }

        private fun Connection.execute(sql: String) = createStatement().use { it.execute(sql) }
    }

    private lateinit var router: ShardRouter

    @BeforeEach
    fun open() {
        val servers = listOf(Server("db1", postgres.database(0).uri()))
        val map = ShardMap.initial(Sharding(8), IdLayout.DEFAULT, servers, Spread.CONTIGUOUS)
        router = ShardRouter.builder().map(map).build()
    }

    @AfterEach
    fun close() = router.close()

    @Test
    fun lambdasNeedNoTypeArguments() {
        val id = ShardflakeId.of(2L shl 10)
        val rows = router.write(uid = 42) { tx ->
            tx.connection().prepareStatement(tx.sql("INSERT INTO \${shard.schema}.photo VALUES (?, 'sunrise')")).use {
                it.setLong(1, id.value)
                it.executeUpdate()
            }
        }

        assertThat(rows).isEqualTo(1)
        assertThat(router.read(id = id) { it.shard() }).isEqualTo(2)
        assertThat(router.read(key = ShardKey.shard(7)) { tx -> tx.schema() }).isEqualTo("shard_0007")
        val nothing: String? = router.write(key = ShardKey.uid("ann")) { null }
        assertThat(nothing).isNull()
    }

    @Test
    fun thoseOfJooqNeither() {
        val jooq = JooqRouter(router, "app")

        assertThat(jooq.read(uid = 42) { dsl -> dsl.fetchSingle("SELECT 1").get(0, Int::class.java) }).isEqualTo(1)
        assertThat(jooq.write(id = ShardflakeId.of(1024)) { it.fetchValue("SELECT 2") }).isEqualTo(2)
    }
}
