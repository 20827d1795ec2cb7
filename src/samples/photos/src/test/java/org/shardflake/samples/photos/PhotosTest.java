/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardKey;
import org.shardflake.router.ShardRouter;
import org.shardflake.spring.test.ShardflakeTest;
import org.shardflake.spring.test.TestLookup;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.web.server.LocalServerPort;

@SpringBootTest(webEnvironment = SpringBootTest.WebEnvironment.RANDOM_PORT)
@ShardflakeTest(
        value = "classpath:db/photos.sql",
        uidColumn = "uid",
        reference = "classpath:db/reference.sql",
        lookups = @TestLookup(value = "person.email", ignoreCase = true),
        shards = 16)
class PhotosTest {

    @LocalServerPort
    private int port;

    @Autowired
    private PhotoService photos;

    @Autowired
    private PersonService people;

    @Autowired
    private ShardRouter router;

    @Test
    void theNewestOfAllUsersComeFirst() throws Exception {
        send("POST", "/api/people?email=ann@example.com&name=ann&country=KE");
        send("POST", "/api/people?email=bob@example.com&name=bob&country=BR");
        send("POST", "/api/photos?email=ann@example.com&title=sunrise");
        send("POST", "/api/photos?email=bob@example.com&title=harbour");
        send("POST", "/api/photos?email=Ann@Example.com&title=sunset");

        String newest = send("GET", "/api/photos").body();
        assertThat(newest).containsSubsequence("sunset", "harbour", "sunrise").containsPattern("\"id\":\"\\d{18}\"");
    }

    @Test
    void aUserLikesAPhotoOnce() throws Exception {
        Photo photo = photos.add(people.signUp("ann@example.com", "ann", "KE"), "sunrise");

        assertThat(send("POST", "/api/photos/%s/likes?user=bob".formatted(photo.id()))
                        .body())
                .isEqualTo("{\"likes\":1}");
        assertThat(send("POST", "/api/photos/%s/likes?user=bob".formatted(photo.id()))
                        .body())
                .isEqualTo("{\"likes\":1}");
    }

    @Test
    void nonsenseIsRefused() throws Exception {
        people.signUp("ann@example.com", "ann", "KE");
        assertRefused(400, "/api/photos?email=ann@example.com&title=%20", "title has 0 characters, allowed: 1..100");
        assertRefused(
                404, "/api/photos?email=bob@example.com&title=harbour", "nobody has signed up as bob@example.com");
        assertRefused(
                409,
                "/api/people?email=ANN@example.com&name=ann&country=BR",
                "someone has signed up as ANN@example.com");
        assertRefused(400, "/api/people?email=bob@example.com&name=bob&country=XX", "there is no country XX");
        assertRefused(400, "/api/photos/sunrise/likes?user=bob", "is not an id");
        assertRefused(404, "/api/photos/1024/likes?user=bob", "there is no photo 1024");
    }

    /** A refused country leaves the address free. */
    @Test
    void oneSignsUpAndInAndIsCounted() throws Exception {
        assertRefused(400, "/api/people?email=bob@example.com&name=bob&country=XX", "there is no country XX");
        assertThat(send("POST", "/api/people?email=bob@example.com&name=bob&country=BR")
                        .body())
                .isEqualTo("{\"name\":\"bob\",\"country\":\"Brazil\"}");
        assertThat(send("GET", "/api/people?email=bob@example.com").body())
                .isEqualTo("{\"name\":\"bob\",\"country\":\"Brazil\"}");
        photos.like(
                photos.add(people.find("bob@example.com").orElseThrow(), "harbour")
                        .id(),
                "ann");

        assertThat(send("GET", "/api/totals").body()).contains("\"people\":1", "\"photos\":1", "\"likes\":1");
        assertThat(send("GET", "/api/countries").body()).contains("{\"code\":\"KE\",\"name\":\"Kenya\"}");
    }

    private void assertRefused(int status, String path, String reason) throws Exception {
        HttpResponse<String> response = send("POST", path);

        assertThat(response.statusCode()).isEqualTo(status);
        assertThat(response.body()).contains(reason);
    }

    @Test
    void aShardMovesWithItsPhotos() throws Exception {
        Photo photo = photos.add(people.signUp("ann@example.com", "ann", "KE"), "sunrise");
        String before = router.locate(ShardKey.id(photo.id())).server().name();
        String after = before.equals("db1") ? "db2" : "db1";

        assertThat(send("POST", "/api/shards/%s/move".formatted(photo.shard())).body())
                .contains(after);

        assertThat(photos.like(photo.id(), "bob")).contains(1L);
        assertThat(photos.newest(1)).first().extracting(Photo::server).isEqualTo(after);
    }

    private HttpResponse<String> send(String method, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build();
        return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
    }
}
