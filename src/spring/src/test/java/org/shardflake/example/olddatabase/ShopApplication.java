/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.olddatabase;

import java.util.Arrays;
import java.util.stream.Stream;
import org.shardflake.example.broughtover.OldTables;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;

/** The shop's application: properties say whether it has one database, shards, or shards that leave the database. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@Import({OldTables.class, Shop.class, Logins.class, Sales.class, DarkReads.class})
class ShopApplication {

    @Bean
    PersistenceManagedTypes entities() {
        return PersistenceManagedTypes.of(User.class.getName(), Order.class.getName());
    }

    static ConfigurableApplicationContext start(OldShop old, String... more) {
        Stream<String> always = Stream.of(
                "--spring.main.banner-mode=off",
                "--spring.main.web-application-type=none",
                "--spring.jpa.open-in-view=false",
                "--spring.jpa.hibernate.ddl-auto=validate",
                "--spring.liquibase.enabled=false",
                "--logging.level.org.hibernate.orm.jdbc.error=off", // What is refused runs again.
                "--old.url=" + old.jdbcUrl(),
                "--old.username=" + OldShop.OWNER,
                "--old.password=" + OldShop.PASSWORD);
        return SpringApplication.run(
                ShopApplication.class,
                Stream.concat(always, Arrays.stream(more)).toArray(String[]::new));
    }
}
