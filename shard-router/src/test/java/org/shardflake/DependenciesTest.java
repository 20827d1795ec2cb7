/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class DependenciesTest {

    private static final String CATALOG = "org.shardflake.catalog..";
    private static final String JACKSON = "org.shardflake.jackson..";
    private static final String JOOQ = "org.shardflake.jooq..";
    private static final String JPA = "org.shardflake.jpa..";
    private static final String MICROMETER = "org.shardflake.micrometer..";
    private static final String ROUTER = "org.shardflake.router..";
    private static final String SERVER = "org.shardflake.server..";

    private static final JavaClasses MAIN = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("org.shardflake");

    /** So the id and the map know nothing of the catalog, the router and the servers either. */
    @Test
    void needsNothingButTheJdk() {
        classes()
                .that()
                .resideInAPackage("org.shardflake")
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage("java..", "javax.crypto..", "org.shardflake", "org.jspecify.annotations")
                .check(MAIN);
    }

    @Test
    void keepsOptionalDependenciesAtTheEdge() {
        onlyUses(JACKSON, "com.fasterxml..");
        onlyUses(JOOQ, "org.jooq..");
        onlyUses(JPA, "jakarta.persistence..");
        onlyUses(MICROMETER, "io.micrometer..");
        refuses("org.shardflake..", "org.springframework..");
    }

    @Test
    void pointsFromTheRouterToTheCatalogAndTheServers() {
        refuses(SERVER, ROUTER, CATALOG, JACKSON, JOOQ, JPA, MICROMETER);
        refuses(CATALOG, ROUTER, JACKSON, JOOQ, JPA, MICROMETER);
        refuses(ROUTER, JACKSON, JOOQ, JPA, MICROMETER);
    }

    private static void onlyUses(String user, String used) {
        noClasses()
                .that()
                .resideOutsideOfPackage(user)
                .should()
                .dependOnClassesThat()
                .resideInAPackage(used)
                .check(MAIN);
    }

    private static void refuses(String user, String... used) {
        noClasses()
                .that()
                .resideInAPackage(user)
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(used)
                .check(MAIN);
    }
}
